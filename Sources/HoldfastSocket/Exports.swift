// These exports let an app that imports this module use the types in its signatures.
@_exported public import HoldfastHeldSocket
@_exported public import HoldfastCore
@_exported public import HoldfastDriver
@_exported public import HoldfastPorts
