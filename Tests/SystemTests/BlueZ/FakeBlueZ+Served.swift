import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice
import HoldfastTestKit

@testable import HoldfastBlueZ

// The opposite role: through the fake daemon, a program serves a peripheral to a phone nearby.
extension FakeBlueZ {
  /// The object path of the phone on the peripheral's adapter.
  static let phone = adapter + "/dev_00_AA_01_00_00_01"
  static let mtu: UInt16 = 247

  /// The objects that a program serves as a peripheral.
  struct Served: Sendable {
    var sender: String
    var objects: BlueZObjects

    func path(of id: GATTID) -> String? {
      objects.all.first {
        $0.value[BlueZName.characteristic]?["UUID"]?.text.flatMap { GATTID($0) } == id
      }?.key
    }

    func flags(of id: GATTID) -> [String]? {
      path(of: id).flatMap { objects[$0, BlueZName.characteristic, "Flags"]?.texts }
    }
  }

  /// An event that a phone near the peripheral receives.
  enum PhoneEvent: Sendable, Equatable {
    /// The peripheral's advertisement, or `nil` when it ends.
    case advertisement([String: BusData]?)
    case lost
    case value(GATTID, [UInt8])
  }

  /// Registers or unregisters an advertisement.
  func advertisingCall(_ call: BusMember, _ sender: String, _ number: UInt64) {
    guard let path = call.arguments.first?.text else { return refuse(number, "Failed", "") }
    guard call.name == "RegisterAdvertisement" else {
      try? bus.answer(number)
      return ended()
    }
    if refusesAdvertisement {
      refusesAdvertisement = false
      return refuse(number, "NotPermitted", "Maximum advertisements reached")
    }
    let question = try? bus.call(
      sender,
      BusMember(path, BlueZName.properties, "GetAll", [.text(BlueZName.advertisement)]))
    guard let question else { return refuse(number, "Failed", "") }
    waiting[question] = { bluez, result in
      guard let properties = (try? result.get())?.first?.properties else {
        return bluez.refuse(number, "Failed", "Failed to parse advertisement.")
      }
      bluez.advertised = (sender, path)
      try? bluez.bus.answer(number)
      bluez.phoneEvents.put(.advertisement(properties))
    }
  }

  private func ended() {
    guard advertised != nil else { return }
    advertised = nil
    phoneEvents.put(.advertisement(nil))
  }

  /// Releases the advertisement, as BlueZ does when the adapter is switched off.
  func releaseAdvertisement() {
    if let (sender, path) = advertised {
      _ = try? bus.call(sender, BusMember(path, BlueZName.advertisement, "Release"))
    }
    ended()
    phoneLeft()
  }

  func serve(_ objects: [String: BlueZObjects.Interfaces], of sender: String) {
    served = Served(sender: sender, objects: BlueZObjects(objects))
    try? bus.listen(
      "type='signal',sender='\(sender)',interface='\(BlueZName.properties)'")
  }

  /// Reports the value that the serving program sent in a signal.
  func emitted(_ signal: BusMember) {
    guard let served, let value = signal.arguments.dropFirst().first?.properties?["Value"]?.bytes,
      let text = served.objects[signal.path, BlueZName.characteristic, "UUID"]?.text,
      let id = GATTID(text)
    else { return }
    phoneEvents.put(.value(id, value))
  }

  func phoneCall(_ call: BusMember, _ number: UInt64) {
    guard call.name == "Disconnect", hasPhone else {
      return refuse(number, "NotConnected", "Not Connected")
    }
    phoneLeft()
    try? bus.answer(number)
  }

  func phoneLeft() {
    guard hasPhone else { return }
    hasPhone = false
    phoneEvents.put(.lost)
    changed(Self.phone, BlueZName.device, ["Connected": .boolean(false)])
  }

  // MARK: what a test does

  func connectPhone() {
    hasPhone = true
    added(Self.phone, [BlueZName.device: ["Connected": .boolean(true)]])
    bus.flush()
  }

  func losePhone() {
    phoneLeft()
    bus.flush()
  }

  func refuseNextAdvertisement() { refusesAdvertisement = true }

  /// Calls a method of the serving program, as a phone does through BlueZ.
  func ask(_ name: String, _ id: GATTID, _ bytes: [UInt8]? = nil) async -> Result<
    [BusData], BusRefusal
  > {
    let options = BusData.properties(["mtu": .word(Self.mtu)])
    let arguments: [BusData]
    switch name {
    case "ReadValue": arguments = [options]
    case "WriteValue": arguments = [.bytes(bytes ?? []), options]
    case _: arguments = []
    }
    guard let served, let path = served.path(of: id),
      let question = try? bus.call(
        served.sender, BusMember(path, BlueZName.characteristic, name, arguments))
    else { return .failure(BusRefusal("nothing is served")) }
    bus.flush()
    return await withCheckedContinuation { continuation in
      waiting[question] = { continuation.resume(returning: $1) }
    }
  }
}
