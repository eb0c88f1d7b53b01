import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice

@testable import HoldfastBlueZ

/// The rules of a central over BlueZ, run in virtual time. The test acts as the daemon.
struct BlueZRadioHarness {
  typealias Effect = BlueZRadio.Effect

  static let device = FakeBlueZ.device
  static let id = FakeBlueZ.id
  static let part = device + "/service000a/char0001"
  static let properties: [String: BusData] = [
    "AddressType": .text("random"), "Connected": .boolean(false), "Trusted": .boolean(false),
    "Paired": .boolean(false), "ServicesResolved": .boolean(false), "Name": .text("Bottle"),
    "UUIDs": .texts([BottleAttribute.service.description]),
  ]

  var radio: BlueZRadio
  var now = Instant.zero

  /// Creates a radio that is switched on.
  ///
  /// - Parameter knows: The properties of the device, or `nil` if BlueZ does not know the device.
  init(
    knows: [String: BusData]? = properties, manager: Bool = false, monitors: Bool = false,
    services: [GATTID] = [BottleAttribute.service]
  ) {
    radio = BlueZRadio(adapter: nil, services: services)
    let first = handle(.daemon(true))
    var objects: [String: BlueZObjects.Interfaces] = [
      FakeBlueZ.adapter: [BlueZName.adapter: ["Powered": .boolean(true)]]
    ]
    if manager { objects[FakeBlueZ.adapter]?[BlueZName.gattManager] = [:] }
    if monitors {
      objects[FakeBlueZ.adapter]?[BlueZName.monitorManager] = [
        "SupportedMonitorTypes": .texts(["or_patterns"])
      ]
    }
    if let knows { objects[Self.device] = [BlueZName.device: knows] }
    if let call = Self.call("GetManagedObjects", in: first) {
      _ = handle(.answered(call, [.objects(objects)]))
    }
  }

  mutating func handle(_ input: BlueZRadio.Input) -> [Effect] { radio.handle(input, at: now) }

  mutating func handle(_ message: BlueZMessage) -> [Effect] { handle(.bus(message)) }

  /// Advances the time, ticks at each deadline in between, and returns the resulting effects.
  mutating func pass(_ time: Duration) -> [Effect] {
    let end = now.advanced(by: time)
    var effects: [Effect] = []
    while let due = radio.deadline, due <= end {
      now = max(now, due)
      effects += radio.tick(at: now)
    }
    now = end
    return effects
  }

  /// Connects attempt 1 like an app in the foreground.
  mutating func open(isQueued: Bool = false) {
    let effects = handle(.connect(Self.id, AttemptID(1), isQueued: isQueued))
    if let call = Self.call("Connect", in: effects) { _ = handle(.answered(call, [])) }
    _ = change(["Connected": .boolean(true)])
  }

  mutating func change(_ values: [String: BusData]) -> [Effect] {
    handle(.changed(Self.device, BlueZName.device, values, without: []))
  }

  mutating func power(_ isOn: Bool) -> [Effect] {
    handle(
      .changed(
        FakeBlueZ.adapter, BlueZName.adapter, ["Powered": .boolean(isOn)], without: []))
  }

  /// Refuses the last call of a method in the effects.
  mutating func refuse(
    _ name: String, in effects: [Effect], _ error: String, _ text: String = ""
  ) -> [Effect] {
    guard let call = Self.call(name, in: effects) else { return [] }
    return handle(.refused(call, BusRefusal("org.bluez.Error." + error, text)))
  }

  mutating func answer(_ name: String, in effects: [Effect]) -> [Effect] {
    guard let call = Self.call(name, in: effects) else { return [] }
    return handle(.answered(call, []))
  }

  /// Adds the service and its characteristic.
  mutating func export(mtu: UInt16? = nil) -> [Effect] {
    var part: [String: BusData] = ["UUID": .text(BottleAttribute.state.id.description)]
    if let mtu { part["MTU"] = .word(mtu) }
    return handle(
      .added(
        Self.device + "/service000a",
        [BlueZName.gattService: ["UUID": .text(BottleAttribute.service.description)]]))
      + handle(.added(Self.part, [BlueZName.characteristic: part]))
  }

  /// Returns the id of the last call of a method.
  static func call(_ name: String, in effects: [Effect]) -> BlueZRadio.CallID? {
    for case .call(let id, let member) in effects.reversed() where member.name == name {
      return id
    }
    return nil
  }

  /// Returns the names of all calls.
  static func calls(_ effects: [Effect]) -> [String] {
    effects.compactMap { if case .call(_, let member) = $0 { member.name } else { nil } }
  }

  /// Returns the events for the app.
  static func events(_ effects: [Effect]) -> [CentralEvent] {
    effects.compactMap { if case .report(let event) = $0 { event } else { nil } }
  }

  static func answers(_ effects: [Effect]) -> [Result<[UInt8], LinkFailure>] {
    effects.compactMap { if case .answer(_, let result) = $0 { result } else { nil } }
  }
}
