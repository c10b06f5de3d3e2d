# Writes kendall.csv and the data it is about: Kendall's correlation by pcaPP::cor.fk, without ties.
# Run in this folder: Rscript make_kendall.R
library(pcaPP)
set.seed(20260101)
n <- 400
z <- rnorm(n)
data <- list(
  normal = cbind(x = z, y = 0.8 * z + rnorm(n)),
  uniform_weak = cbind(x = runif(n), y = runif(n)),
  cauchy = cbind(x = rcauchy(n), y = -rcauchy(n))
)
for (name in names(data)) {
  data[[name]] <- signif(data[[name]], 6)
  stopifnot(!anyDuplicated(data[[name]][, 1]), !anyDuplicated(data[[name]][, 2]))
  write.csv(data[[name]], paste0("kendall_", name, ".csv"), row.names = FALSE)
}
tau <- vapply(data, function(d) cor.fk(d[, 1], d[, 2]), 0)
write.csv(data.frame(data = names(tau), tau = format(tau, digits = 17)), "kendall.csv", row.names = FALSE, quote = 1)
