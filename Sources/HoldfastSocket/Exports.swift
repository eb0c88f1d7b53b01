// The names that an app sees beside those that are declared in this module. They are exported one by
// one, so that no other name of these modules can collide with a name of the app. Since an exported
// name takes precedence over the same name of another module, none of them is a common word.
@_exported public import enum HoldfastCore.AppLifecycle
@_exported public import struct HoldfastCore.JournalError
@_exported public import enum HoldfastCore.LinkFailure
@_exported public import struct HoldfastCore.LinkPolicy
@_exported public import enum HoldfastCore.LinkQuality
@_exported public import struct HoldfastCore.LinkStatus
@_exported public import struct HoldfastCore.OutboxMessage
@_exported public import enum HoldfastCore.OutboxRefusal
@_exported public import struct HoldfastCore.PolicyError
@_exported public import struct HoldfastCore.SocketMessage
@_exported public import enum HoldfastCore.StoreFailure
@_exported public import struct HoldfastCore.Timestamp
@_exported public import struct HoldfastCore.UUID128
@_exported public import enum HoldfastHeldSocket.SocketNotice
@_exported public import struct HoldfastHeldSocket.SocketReading
@_exported public import enum HoldfastHeldSocket.SocketRefusal
