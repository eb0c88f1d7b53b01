// An app that imports this module also sees the modules named in its signatures.
@_exported public import HeldSocket
@_exported public import LinkCore
@_exported public import LinkDriver
