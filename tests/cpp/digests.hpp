#pragma once

/// Prints a line for each group of kernels; returns whether all instruction sets gave the same.
bool print_digests();
