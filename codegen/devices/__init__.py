"""Cards by way of cupy, of the driver alone, or emulated; and arrays of other libraries that lie on them."""
