// The names of types that occur in the signatures of the ports, so that a file with an adapter needs
// no other import. They are exported one by one, so that no other name of the module can collide
// with a name of the app.
@_exported public import enum HoldfastCore.ConnectionNote
@_exported public import struct HoldfastCore.Instant
@_exported public import enum HoldfastCore.LinkFailure
@_exported public import struct HoldfastCore.OutboxMessage
@_exported public import struct HoldfastCore.PathID
@_exported public import struct HoldfastCore.PathTraits
@_exported public import enum HoldfastCore.Reachability
@_exported public import struct HoldfastCore.Secret
@_exported public import struct HoldfastCore.SocketMessage
@_exported public import enum HoldfastCore.StoreFailure
@_exported public import struct HoldfastCore.StoredOutbox
@_exported public import struct HoldfastCore.Timestamp
@_exported public import enum HoldfastCore.WakeResult
