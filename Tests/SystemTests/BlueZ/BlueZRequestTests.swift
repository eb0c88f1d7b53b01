import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice
import HoldfastTestKit
import Testing

@testable import HoldfastBlueZ

/// Tests of the decisions of a central over BlueZ about requests to a peripheral.
@Suite struct BlueZRequestTests {
  private typealias Harness = BlueZRadioHarness
  private static let value = BottleAttribute.state.id

  private static func discover(_ number: UInt64 = 1) -> BlueZRadio.Input {
    .request(number, AttemptID(1), .discover(BottleAttribute.service, [value]))
  }

  private static func read(_ number: UInt64 = 1) -> BlueZRadio.Input {
    .request(number, AttemptID(1), .read(value))
  }

  private static func resolved() -> Harness {
    var harness = Harness()
    harness.open()
    _ = harness.change(["ServicesResolved": .boolean(true)])
    _ = harness.export()
    return harness
  }

  @Test func `the connection ends if the services are not resolved within 20 s`() {
    var harness = Harness()
    harness.open()
    #expect(harness.handle(Self.discover()) == [])
    #expect(harness.pass(.milliseconds(19_999)) == [])
    let effects = harness.pass(.milliseconds(1))
    #expect(Harness.answers(effects) == [.failure(.timeout(.establish))])
    #expect(Harness.events(effects) == [.disconnected(AttemptID(1), .timeout(.establish))])
    #expect(Harness.calls(effects) == ["Disconnect"])
  }

  @Test func `a discovery succeeds once the services are resolved and their objects exported`() {
    var harness = Harness()
    harness.open()
    _ = harness.handle(Self.discover())
    #expect(harness.export() == [], "they are not resolved")
    #expect(harness.change(["ServicesResolved": .boolean(true)]) == [.answer(1, .success([]))])
  }

  @Test func `missing objects are requested three times before the device is removed`() {
    var harness = Harness()
    harness.open()
    _ = harness.change(["ServicesResolved": .boolean(true)])
    #expect(harness.handle(Self.discover()) == [])
    for _ in 1...3 {
      #expect(harness.pass(.milliseconds(249)) == [])
      let effects = harness.pass(.milliseconds(1))
      #expect(Harness.calls(effects) == ["GetManagedObjects"])
      let answer = harness.answer("GetManagedObjects", in: effects)
      if let first = Harness.answers(answer).first {
        #expect(throws: LinkFailure.self) { try first.get() }
      }
    }
    #expect(harness.radio.requests.isEmpty)
    let effects = harness.handle(.cancel(AttemptID(1)))
    #expect(Harness.calls(effects) == ["RemoveDevice"])
    _ = harness.change(["Connected": .boolean(false)])
    let queued = BlueZRadio.Input.connect(Harness.id, AttemptID(2), isQueued: false)
    #expect(harness.handle(queued) == [], "not before it is removed")
    #expect(Harness.calls(harness.answer("RemoveDevice", in: effects)) == ["Connect"])
  }

  @Test func `the connection ends if a request is not answered within 30 s`() {
    var harness = Self.resolved()
    #expect(Harness.calls(harness.handle(Self.read())) == ["ReadValue"])
    #expect(harness.pass(.milliseconds(29_999)) == [])
    let effects = harness.pass(.milliseconds(1))
    #expect(Harness.answers(effects) == [.failure(.timeout(.response))])
    #expect(Harness.events(effects) == [.disconnected(AttemptID(1), .timeout(.response))])
  }

  @Test func `a request blocked by another one is retried every 50 ms, for at most 100 attempts`() {
    var harness = Self.resolved()
    var effects = harness.handle(Self.read())
    for _ in 1..<BlueZRadio.busyTries {
      #expect(harness.refuse("ReadValue", in: effects, "InProgress") == [])
      #expect(harness.pass(.milliseconds(49)) == [])
      effects = harness.pass(.milliseconds(1))
      #expect(Harness.calls(effects) == ["ReadValue"])
    }
    let last = harness.refuse("ReadValue", in: effects, "InProgress", "busy")
    #expect(Harness.answers(last) == [.failure(.protocolError(detail: "busy"))])
  }

  @Test func `a refusal fails a request, and a lost connection fails it as a reset`() {
    for (error, failure) in [
      ("NotConnected", LinkFailure.reset), ("NotPermitted", .protocolError(detail: "no")),
    ] {
      var harness = Self.resolved()
      let effects = harness.handle(Self.read())
      #expect(
        Harness.answers(harness.refuse("ReadValue", in: effects, error, "no")) == [
          .failure(failure)
        ])
    }
  }

  @Test
  func `values of characteristics that this connection has not subscribed to are not reported`() {
    var harness = Self.resolved()
    let value = BlueZMessage.changed(
      Harness.part, BlueZName.characteristic, ["Value": .bytes([1])], without: [])
    #expect(harness.handle(value) == [])
    _ = harness.handle(.request(1, AttemptID(1), .notify(Self.value)))
    #expect(Harness.events(harness.handle(value)) == [.value(AttemptID(1), Self.value, [1])])
  }

  @Test func `replaced characteristics are reported once as a change, and then discovered again`()
    throws
  {
    var harness = Self.resolved()
    let subscribe = harness.handle(.request(1, AttemptID(1), .notify(Self.value)))
    _ = harness.answer("StartNotify", in: subscribe)
    #expect(harness.export() == [], "an update of an object is not a change")
    let gone = BlueZMessage.removed(Harness.part, [BlueZName.characteristic])
    #expect(harness.handle(gone) == [], "the end of the connection may follow")
    #expect(harness.export() == [.report(.changed(AttemptID(1)))])
    #expect(harness.export() == [])
    let value = BlueZMessage.changed(
      Harness.part, BlueZName.characteristic, ["Value": .bytes([1])], without: [])
    #expect(harness.handle(value) == [], "the subscription ended with the removed object")
    #expect(Harness.answers(harness.handle(Self.discover(2))) == [.success([])])
    _ = harness.handle(.request(3, AttemptID(1), .notify(Self.value)))
    #expect(Harness.events(harness.handle(value)) == [.value(AttemptID(1), Self.value, [1])])
  }

  @Test func `objects that are removed before a disconnect are not reported as a change`() {
    var harness = Self.resolved()
    _ = harness.handle(.request(1, AttemptID(1), .notify(Self.value)))
    _ = harness.handle(.removed(Harness.part, [BlueZName.characteristic]))
    let lost = harness.change(["Connected": .boolean(false)])
    #expect(Harness.events(lost) == [.disconnected(AttemptID(1), .reset)])
    let again = harness.handle(.connect(Harness.id, AttemptID(2), isQueued: false))
    _ = harness.answer("Connect", in: again)
    #expect(Harness.events(harness.export()) == [])
  }

  @Test func `the maximum value length is the MTU without its header, and at least 20`() {
    for (mtu, longest) in [(nil, 20), (23, 20), (24, 21), (247, 244)] as [(UInt16?, Int)] {
      var harness = Harness()
      harness.open()
      _ = harness.export(mtu: mtu)
      #expect(harness.radio.longestValue(of: AttemptID(1)) == longest)
    }
    #expect(Harness().radio.longestValue(of: AttemptID(9)) == 20)
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `under random inputs deadlines advance and each request is answered at most once`(
    _ seed: UInt64
  ) {
    var random = RandomSource(seed: seed)
    var harness = Harness(manager: Bool.random(using: &random))
    var (asked, answered): (Set<UInt64>, Set<UInt64>) = ([], [])
    var open: [UInt64] = []
    for number in 1...150 as ClosedRange<UInt64> {
      var effects: [BlueZRadio.Effect]
      if Int.random(in: 0..<4, using: &random) == 0 {
        effects = harness.pass(.milliseconds(Int.random(in: 0...40_000, using: &random)))
        #expect(harness.radio.deadline.map { $0 > harness.now } ?? true)
      } else {
        let input = Self.input(number, &open, &random)
        if case .request(let id, _, _) = input { asked.insert(id) }
        effects = harness.handle(input)
      }
      for effect in effects {
        if case .call(let id, _) = effect { open.append(id) }
        if case .answer(let id, _) = effect { #expect(answered.insert(id).inserted) }
      }
    }
    _ = Harness.answers(harness.handle(.daemon(false)))
    #expect(harness.radio.requests.isEmpty && answered.isSubset(of: asked))
  }

  /// Returns a random input that can occur at any time.
  private static func input(
    _ number: UInt64, _ open: inout [UInt64], _ random: inout RandomSource
  ) -> BlueZRadio.Input {
    let attempt = AttemptID(UInt64.random(in: 1...4, using: &random))
    let isOn = Bool.random(using: &random)
    switch Int.random(in: 0..<14, using: &random) {
    case 0: return .connect(Harness.id, AttemptID(number + 10), isQueued: isOn)
    case 1: return .connect(Harness.id, attempt, isQueued: isOn)
    case 2: return .cancel(attempt)
    case 3: return isOn ? .scan([BottleAttribute.service]) : .stopScan
    case 4: return .bus(.removed(Harness.device, [BlueZName.device]))
    case 5:
      var properties = Harness.properties
      properties["RSSI"] = .short(-40)
      return .bus(.added(Harness.device, [BlueZName.device: properties]))
    case 6, 7:
      let names = ["Connected", "ServicesResolved", "Trusted"]
      let name = names.randomElement(using: &random) ?? "Connected"
      return .bus(
        .changed(Harness.device, BlueZName.device, [name: .boolean(isOn)], without: []))
    case 8: return .request(number, attempt, isOn ? .read(value) : .notify(value))
    case 9: return .request(number, attempt, .discover(BottleAttribute.service, [value]))
    case 10:
      return .bus(
        .added(Harness.part, [BlueZName.characteristic: ["UUID": .text(value.description)]]))
    case 11: return .bus(.removed(Harness.part, [BlueZName.characteristic]))
    case _:
      guard let call = open.popLast() else { return .detected(Harness.device) }
      let errors = ["InProgress", "Failed", "NotConnected"]
      let error = "org.bluez.Error." + (errors.randomElement(using: &random) ?? "")
      return .bus(isOn ? .answered(call, []) : .refused(call, BusRefusal(error)))
    }
  }
}
