// The laboratory starts programs and needs root: it is a module of its own, which only Linux has.
#if os(Linux)
  @_exported public import HoldfastLab
#endif
