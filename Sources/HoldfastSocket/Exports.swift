// These exports let an app that imports this module use the types in its signatures.
@_exported public import HeldSocket
@_exported public import LinkCore
@_exported public import LinkDriver
