// The names that an app sees beside those that are declared in this module. They are exported one by
// one, so that no other name of these modules can collide with a name of the app. Since an exported
// name takes precedence over the same name of another module, none of them is a common word.
@_exported public import HoldfastSocket
@_exported public import enum HoldfastBottleLink.BottleRequest
@_exported public import enum HoldfastBottleLink.BottleUpdate
@_exported public import struct HoldfastHealth.HealthObject
@_exported public import enum HoldfastHealth.HealthQuestion
@_exported public import struct HoldfastHealth.ZoneRules
@_exported public import struct HoldfastHealthRelay.PullReport
@_exported public import enum HoldfastHealthRelay.RelayProfile
@_exported public import struct HoldfastHealthRelay.RelayStatus
@_exported public import enum HoldfastHealthRelay.RelayUpdate
@_exported public import enum HoldfastHealthSync.SyncTypes
@_exported public import enum HoldfastHealthSync.SyncUpdate
@_exported public import enum HoldfastMessageStream.StreamUpdate
@_exported public import enum HoldfastPorts.WakeCause
@_exported public import enum HoldfastSession.SessionUpdate
@_exported public import struct HoldfastStorage.BottleDrink
@_exported public import struct HoldfastStorage.ConsumerName
@_exported public import struct HoldfastStorage.KnownBottle
@_exported public import struct HoldfastStorage.ShopDelivery
@_exported public import enum HoldfastWire.BottleCommand
@_exported public import struct HoldfastWire.BottleConfiguration
@_exported public import struct HoldfastWire.BottleSwitches
@_exported public import typealias HoldfastWire.MessageID
@_exported public import struct HoldfastWire.PairedAssistants
@_exported public import enum HoldfastWire.PushAddress
@_exported public import struct HoldfastWire.SessionEntry
@_exported public import struct HoldfastWire.SessionError
@_exported public import struct HoldfastWire.ShopID
@_exported public import struct HoldfastWire.ShopMessage
