"""Public data that come with the package; see `dpreg.datasets`."""
