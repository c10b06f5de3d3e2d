// What the test program prints on request, for other programs to compare.
#pragma once

/// False when two instruction sets of this processor differ.
bool print_digests();

/// Logarithms and exponentials of the C library: their name, where, and what, as bits.
void print_functions();
