import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice
import Testing

@testable import HoldfastBlueZ

/// Tests of the decisions of a central over BlueZ about adapters, scans and connects.
@Suite struct BlueZRadioTests {
  private typealias Harness = BlueZRadioHarness
  private static let eager = BlueZRadio.Input.connect(Harness.id, AttemptID(1), isQueued: false)
  private static let queued = BlueZRadio.Input.connect(Harness.id, AttemptID(2), isQueued: true)

  @Test func `an adapter is reported after its objects were read or access was denied`() {
    var radio = BlueZRadio(adapter: nil, services: [])
    let first = radio.handle(.bus(.daemon(true)), at: .zero)
    #expect(Harness.events(first) == [])
    #expect(Harness.calls(first) == ["GetManagedObjects"])
    let refusal = BusRefusal("org.freedesktop.DBus.Error.AccessDenied")
    let effects = radio.handle(.bus(.refused(1, refusal)), at: .zero)
    #expect(Harness.events(effects) == [.adapter(.unauthorised)])
  }

  @Test func `without its daemon an adapter is resetting for 30 s and then unsupported`() {
    var harness = Harness()
    #expect(Harness.events(harness.handle(.daemon(false))) == [.adapter(.resetting)])
    #expect(harness.pass(.milliseconds(29_999)) == [])
    #expect(harness.handle(.daemon(false)) == [], "it is reported once, and the 30 s continue")
    #expect(Harness.events(harness.pass(.milliseconds(1))) == [.adapter(.unsupported)])
    #expect(harness.radio.deadline == nil)
    #expect(harness.handle(.daemon(false)) == [], "a bus that cannot be reached again")
  }

  @Test func `a connect ends after 20 s, and is cleared before the next one`() {
    var harness = Harness()
    #expect(Harness.calls(harness.handle(Self.eager)) == ["Connect"])
    #expect(harness.pass(.milliseconds(19_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))) == ["Disconnect"])
    #expect(harness.pass(.milliseconds(4_999)) == [], "nobody answers the disconnect")
    #expect(harness.pass(.milliseconds(500)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))) == ["Connect"])
  }

  @Test func `a late answer of an earlier connect changes nothing`() throws {
    var harness = Harness()
    let call = try #require(Harness.call("Connect", in: harness.handle(Self.eager)))
    _ = harness.pass(.seconds(20))
    #expect(harness.handle(.answered(call, [])) == [])
  }

  @Test func `each BlueZ error maps to its fault, and each fault to its retry delay`() {
    func fault(_ name: String, _ text: String) -> ConnectFault {
      ConnectFault(BusRefusal(name, text))
    }
    let failed = "org.bluez.Error.Failed"
    for text in ["le-connection-abort-by-local", "br-connection-canceled"] {
      #expect(fault(failed, text) == .transient(text))
    }
    #expect(fault("org.bluez.Error.InProgress", "busy") == .inProgress)
    #expect(fault(failed, "le-connection-concurrent-connection-limit") == .gone)
    #expect(fault("org.freedesktop.DBus.Error.UnknownObject", "") == .gone)
    #expect(fault(failed, "le-connection-timeout") == .timeout)
    #expect(fault(failed, "le-connection-gatt-browsing") == .gatt("le-connection-gatt-browsing"))
    #expect(
      fault("org.freedesktop.DBus.Error.NoReply", "") == .bus("org.freedesktop.DBus.Error.NoReply"))
    #expect(fault(failed, "le-connection-refused") == .other("le-connection-refused"))
    let pauses: [(ConnectFault, Duration)] = [
      (.transient(""), .milliseconds(250)), (.bus(""), .milliseconds(250)),
      (.timeout, .milliseconds(500)), (.gone, .seconds(4)), (.gatt(""), .seconds(1)),
      (.other(""), .milliseconds(100)),
    ]
    for (fault, pause) in pauses {
      var retry = ConnectRetry()
      #expect(retry.next(after: fault, isBonded: false) == .again(after: pause, removes: false))
    }
  }

  @Test func `connect attempts end after four failures, or after nine transient ones`() {
    for (fault, limit) in [(ConnectFault.timeout, 4), (.transient(""), 9)] {
      var retry = ConnectRetry()
      for _ in 1..<limit { #expect(retry.next(after: fault, isBonded: false) != .giveUp) }
      #expect(retry.next(after: fault, isBonded: false) == .giveUp)
    }
  }

  @Test func `a device that stays busy is removed unless it is paired`() {
    for isBonded in [true, false] {
      var retry = ConnectRetry()
      let again = ConnectRetry.Outcome.again(after: .milliseconds(250), removes: false)
      #expect(retry.next(after: .inProgress, isBonded: isBonded) == again)
      #expect(retry.next(after: .timeout, isBonded: isBonded) != again, "counted in a row")
      #expect(retry.next(after: .inProgress, isBonded: isBonded) == again)
      #expect(
        retry.next(after: .inProgress, isBonded: isBonded)
          == .again(after: .milliseconds(250), removes: !isBonded))
    }
  }

  @Test func `after the last retry a queued connect stays and pauses for 30 s`() {
    var harness = Harness()
    var effects = harness.handle(Self.eager) + harness.handle(Self.queued)
    for _ in 1...3 {
      effects = harness.refuse("Connect", in: effects, "Failed", "le-connection-refused")
      _ = harness.answer("Disconnect", in: effects)
      effects = harness.pass(.milliseconds(100))
    }
    effects = harness.refuse("Connect", in: effects, "Failed", "le-connection-refused")
    #expect(
      Harness.events(effects) == [.failed(AttemptID(1), .local(detail: "le-connection-refused"))])
    _ = harness.answer("Disconnect", in: effects)
    #expect(harness.change(["RSSI": .short(-40)]) == [], "it rests")
    #expect(harness.pass(.milliseconds(29_999)) == [])
    _ = harness.pass(.milliseconds(1))
    #expect(Harness.calls(harness.change(["RSSI": .short(-50)])).contains("Connect"))
  }

  private static let resting = BlueZRadio.Input.connect(
    Harness.id, AttemptID(2), isQueued: true, after: .seconds(30))

  @Test func `a queued connect does not start before its delay expires`() {
    var harness = Harness()
    #expect(harness.handle(Self.resting) == [])
    #expect(harness.change(["RSSI": .short(-40)]) == [], "it is in sight")
    #expect(harness.pass(.milliseconds(29_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))) == ["Connect"])
  }

  @Test func `after its delay a queued connect scans for a device that is out of range`() {
    var harness = Harness()
    _ = harness.handle(Self.resting)
    let effects = harness.pass(.seconds(30))
    #expect(!Harness.calls(effects).contains("Connect"))
    #expect(effects.contains(.standby(.pacedScan)))
    #expect(Harness.calls(harness.change(["RSSI": .short(-40)])).contains("Connect"))
  }

  @Test func `a connection opened by another attempt or by BlueZ ends the delay`() {
    var asked = Harness()
    _ = asked.handle(Self.resting)
    let effects = asked.handle(Self.eager)
    #expect(Harness.calls(effects) == ["Connect"])
    #expect(
      Harness.events(asked.answer("Connect", in: effects))
        == [.connected(AttemptID(2)), .connected(AttemptID(1))])
    var resting = Harness()
    _ = resting.handle(Self.resting)
    #expect(
      Harness.events(resting.change(["Connected": .boolean(true)])) == [.connected(AttemptID(2))])
  }

  @Test func `a discovery left open by another run is stopped first, in at most four attempts`() {
    var harness = Harness(knows: nil)
    var effects = harness.handle(.scan([BottleAttribute.service]))
    #expect(Harness.calls(effects) == ["SetDiscoveryFilter", "StartDiscovery"])
    for _ in 1...3 {
      effects = harness.refuse("StartDiscovery", in: effects, "InProgress")
      #expect(
        Harness.calls(effects) == ["StopDiscovery", "SetDiscoveryFilter", "StartDiscovery"])
    }
    #expect(harness.refuse("StartDiscovery", in: effects, "InProgress") == [])
    #expect(harness.pass(.milliseconds(4_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))).last == "StartDiscovery")
  }

  @Test func `a scan pauses while BlueZ connects`() {
    var harness = Harness()
    let started = harness.handle(.scan([BottleAttribute.service]))
    _ = harness.answer("StartDiscovery", in: started)
    let effects = harness.handle(Self.eager)
    #expect(Harness.calls(effects) == ["Connect", "StopDiscovery"])
    #expect(Harness.calls(harness.answer("Connect", in: effects)).last == "StartDiscovery")
  }

  @Test func `a discovery that is no longer wanted is stopped once BlueZ has started it`() {
    var harness = Harness()
    let started = harness.handle(.scan([BottleAttribute.service]))
    #expect(harness.handle(.stopScan) == [], "BlueZ would refuse to stop it")
    #expect(Harness.calls(harness.answer("StartDiscovery", in: started)) == ["StopDiscovery"])
    var refused = Harness()
    let again = refused.handle(.scan([BottleAttribute.service]))
    _ = refused.handle(.stopScan)
    #expect(
      Harness.calls(refused.refuse("StartDiscovery", in: again, "InProgress")) == ["StopDiscovery"],
      "one that an earlier run left is not started again")
  }

  @Test func `a scan reports only devices with the requested services`() {
    for (service, isFound) in [(BottleAttribute.service, true), (BottleAttribute.state.id, false)] {
      var harness = Harness()
      _ = harness.handle(.scan([service]))
      let found = Harness.events(harness.change(["RSSI": .short(-40)]))
      #expect(found == (isFound ? [.found(Harness.id, name: "Bottle")] : []))
    }
  }

  @Test func `a device that BlueZ has connected by itself is found without an advertisement`() {
    let found = [CentralEvent.found(Harness.id, name: "Bottle")]
    var early = Harness()
    _ = early.change(["Connected": .boolean(true)])
    let effects = early.handle(.scan([BottleAttribute.service]))
    #expect(Harness.events(effects) == found)
    #expect(Harness.events(early.handle(Self.eager)) == [.connected(AttemptID(1))])
    var late = Harness()
    #expect(Harness.events(late.handle(.scan([BottleAttribute.service]))) == [])
    #expect(Harness.events(late.change(["Connected": .boolean(true)])) == found)
  }

  @Test func `a paced scan is 5 s long and begins every 30 s`() {
    var harness = Harness()
    let first = harness.handle(Self.queued)
    #expect(Harness.calls(first).last == "StartDiscovery")
    #expect(first.contains(.standby(.pacedScan)))
    _ = harness.answer("StartDiscovery", in: first)
    #expect(harness.pass(.milliseconds(4_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))) == ["StopDiscovery"])
    #expect(harness.pass(.milliseconds(24_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))).last == "StartDiscovery")
  }

  @Test func `during auto-connect a scan starts every 5 minutes`() {
    var properties = Harness.properties
    properties["Trusted"] = .boolean(true)
    var harness = Harness(knows: properties, manager: true)
    _ = harness.handle(.answered(2, []))  // the application is registered
    #expect(harness.handle(Self.queued) == [.standby(.autoConnect)])
    #expect(harness.pass(.milliseconds(299_999)) == [])
    #expect(Harness.calls(harness.pass(.milliseconds(1))).last == "StartDiscovery")
  }

  @Test func `a profile that BlueZ kept while the adapter was off remains registered`() throws {
    var properties = Harness.properties
    properties["Trusted"] = .boolean(true)
    var harness = Harness(knows: properties, manager: true)
    _ = harness.handle(.answered(2, []))
    _ = harness.power(false)
    let effects = harness.power(true)
    _ = harness.refuse("RegisterApplication", in: effects, "AlreadyExists")
    #expect(harness.handle(Self.queued) == [.standby(.autoConnect)])
  }

  @Test func `a monitor that BlueZ kept while the adapter was off remains registered`() {
    var harness = Harness(monitors: true)
    let asked = harness.handle(Self.queued)
    #expect(
      harness.refuse("RegisterMonitor", in: asked, "AlreadyExists").contains(.standby(.monitor)))
  }

  @Test func `a device that was just discovered is connected at once, also by a queued connect`() {
    var harness = Harness()
    _ = harness.change(["RSSI": .short(127)])
    #expect(Harness.calls(harness.handle(Self.queued)).contains("Connect"))
    var other = Harness()
    #expect(!Harness.calls(other.handle(Self.queued)).contains("Connect"), "it was not seen")
  }

  @Test func `an address converts to an id and a path and back`() throws {
    let address = try #require(BlueZAddress("F0:F1:0A:F3:F4:05"))
    #expect(BlueZAddress(address.id) == address)
    let path = address.path(below: "/org/bluez/hci0")
    #expect(path == "/org/bluez/hci0/dev_F0_F1_0A_F3_F4_05")
    #expect(BlueZAddress(path: path, below: "/org/bluez/hci0") == address)
    #expect(BlueZAddress(path: path + "/service0001", below: "/org/bluez/hci0") == nil)
    #expect(BlueZAddress(PeripheralID(UUID128(high: 1, low: 2))) == nil, "of another radio")
    for text in ["", "F0:F1:0A:F3:F4", "F0:F1:0A:F3:F4:05:06", "F0:F1:0A:F3:F4:5", "G0:0:0:0:0:0"] {
      #expect(BlueZAddress(text) == nil)
    }
    #expect(BlueZAddress("C0:00:00:00:00:00")?.changesIfRandom == false)
    #expect(BlueZAddress("BF:FF:FF:FF:FF:FF")?.changesIfRandom == true)
  }
}
