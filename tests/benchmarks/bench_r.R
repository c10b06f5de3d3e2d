# What it costs to hand a wide numeric data frame from R to Python, and what is left of it.
#   RETICULATE_PYTHON=.venv/bin/python Rscript tests/benchmarks/bench_r.R
library(dpreg)

resident <- function() {
  gc()
  reticulate::import("gc")$collect()
  status <- readLines("/proc/self/status")
  as.numeric(gsub("[^0-9]", "", grep("^VmRSS", status, value = TRUE))) / 1024
}

n <- 500000L
data <- as.data.frame(matrix(rnorm(n * 20L), n))
data$y <- rowSums(data) + rnorm(n)
size <- as.numeric(object.size(data)) / 2^20

# Everything is loaded, and memory pools have grown, before anything is measured.
for (i in 1:3) fit <- dp_lm(y ~ ., data, eps = 5, delta = 1e-7, method = "tukey")

np <- reticulate::import("numpy", convert = FALSE)
one <- reticulate::import("builtins", convert = FALSE)
design <- dpreg:::design_of(y ~ ., data)
times <- vapply(1:9, function(i) {
  gc()
  taken <- system.time({
    packed <- dpreg:::packed_records(design, data, NULL)
    there <- one$list(lapply(packed$columns, np$frombuffer))
  })
  c(elapsed = taken[["elapsed"]], processor = taken[["user.self"]] + taken[["sys.self"]])
}, numeric(2))
whole <- vapply(1:5, function(i)
  system.time(dp_lm(y ~ ., data, eps = 5, delta = 1e-7, method = "tukey"))[["elapsed"]], 0)

before <- resident()
for (i in 1:5) fit <- dp_lm(y ~ ., data, eps = 5, delta = 1e-7, method = "tukey")
after <- resident()

cat(sprintf("data frame                 %8.1f MB\n", size))
for (kind in rownames(times))
  cat(sprintf("R to arrays, %-13s %8.3f s (median of 9; %.3f to %.3f)\n", kind,
              median(times[kind, ]), min(times[kind, ]), max(times[kind, ])))
cat(sprintf("the whole of dp_lm()       %8.3f s (median of 5)\n", median(whole)))
cat(sprintf("memory before, after 5 fits%8.1f, %.1f MB: %+.1f MB\n", before, after, after - before))
cat(sprintf("size of the fit            %8.3f MB\n", as.numeric(object.size(fit)) / 2^20))
