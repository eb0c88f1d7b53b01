// An app that imports this module also imports the modules whose types occur in its signatures. The
// types of LinkWire are exported individually, because an individually imported name takes
// precedence over the same name in another module, such as `ShopMessage` in StoreKit.
@_exported public import HoldfastBottleLink
@_exported public import HoldfastHealthRelay
@_exported public import HoldfastHealthSync
@_exported public import HoldfastSocket
@_exported public import HoldfastHealth
@_exported public import HoldfastFeaturePorts
@_exported public import HoldfastStorage
@_exported public import struct HoldfastWire.APNsAddress
@_exported public import enum HoldfastWire.AdapterState
@_exported public import struct HoldfastWire.AssistantName
@_exported public import enum HoldfastWire.AssistantsOrder
@_exported public import struct HoldfastWire.BottleCalibration
@_exported public import enum HoldfastWire.BottleCommand
@_exported public import struct HoldfastWire.BottleConfiguration
@_exported public import struct HoldfastWire.BottleFormatError
@_exported public import struct HoldfastWire.BottleRecord
@_exported public import struct HoldfastWire.BottleState
@_exported public import struct HoldfastWire.BottleSwitches
@_exported public import enum HoldfastWire.CentralEvent
@_exported public import struct HoldfastWire.FileUpload
@_exported public import typealias HoldfastWire.GATTID
@_exported public import enum HoldfastWire.HealthPageStart
@_exported public import enum HoldfastWire.HealthSourceFailure
@_exported public import struct HoldfastWire.ShopMessage
@_exported public import enum HoldfastWire.MessageError
@_exported public import typealias HoldfastWire.MessageID
@_exported public import struct HoldfastWire.PairedAssistants
@_exported public import struct HoldfastWire.PeripheralID
@_exported public import struct HoldfastWire.ShopPosition
@_exported public import enum HoldfastWire.PushAddress
@_exported public import struct HoldfastWire.RelayRequestID
@_exported public import struct HoldfastWire.RelayWireError
@_exported public import struct HoldfastWire.RestoredPeripheral
@_exported public import struct HoldfastWire.SessionEntry
@_exported public import struct HoldfastWire.SessionError
@_exported public import enum HoldfastWire.SessionRole
@_exported public import struct HoldfastWire.SessionVersion
@_exported public import struct HoldfastWire.ShopID
@_exported public import struct HoldfastWire.SourcePage
@_exported public import struct HoldfastWire.SourceSample
@_exported public import struct HoldfastWire.SyncIdentity
@_exported public import struct HoldfastWire.SyncOwner
@_exported public import struct HoldfastWire.TimelineKey
@_exported public import enum HoldfastWire.UploadOutcome
@_exported public import HoldfastMessageStream
@_exported public import HoldfastSession
