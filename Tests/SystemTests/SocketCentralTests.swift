import Dispatch
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastRadioSocket

/// Tests of a central on a Unix socket, with a peripheral at the other end.
@Suite(.timeLimit(.minutes(60)))
struct SocketCentralTests {
  @Test func `a central on a socket satisfies the contract`() async throws {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"))
    try await centralContract(SocketCentral(path: scratch("radio")), far: far)
    far.close()
  }

  @Test(arguments: FarFault.allCases)
  func `the contract detects a faulty peripheral`(_ fault: FarFault) async throws {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"), fault: fault)
    await #expect(throws: ContractViolation.self) {
      try await centralContract(SocketCentral(path: scratch("radio")), far: far)
    }
    far.close()
  }

  @Test func `a delayed connect does not open a connection before its delay expires`() async throws
  {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"))
    let central = SocketCentral(path: scratch("radio"))
    let events = Mailbox<CentralEvent>()
    central.events { events.put($0) }
    far.advertise(true)
    let start = ContinuousClock.now
    central.connect(far.id, attempt: AttemptID(1), isQueued: true, after: .milliseconds(1_500))
    while let event = await events.next(), event != .connected(AttemptID(1)) {}
    #expect(start.duration(to: .now) >= .milliseconds(1_500), "earlier advertisements are ignored")
    await central.close()
    far.close()
  }

  @Test func `a delayed connect completes when another attempt connects the peripheral`()
    async throws
  {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"))
    let central = SocketCentral(path: scratch("radio"))
    let events = Mailbox<CentralEvent>()
    central.events { events.put($0) }
    far.advertise(true)
    central.connect(far.id, attempt: AttemptID(1), isQueued: true, after: .seconds(3_600))
    central.connect(far.id, attempt: AttemptID(2), isQueued: false)
    #expect(await events.next() == .adapter(.on))
    #expect(await events.next() == .connected(AttemptID(1)))
    #expect(await events.next() == .connected(AttemptID(2)))
    await central.close()
    far.close()
  }

  @Test func `a peripheral that hangs up at once is retried four times a second`() async throws {
    let scratch = try Scratch()
    let listener = try LocalSocket.listen(on: scratch("radio"))
    let central = SocketCentral(path: scratch("radio"))
    central.events { _ in }
    let start = ContinuousClock.now
    central.scan(for: [BottleAttribute.service])
    for _ in 1...3 {
      var phone: Int32?
      while phone == nil {
        phone = LocalSocket.accept(on: listener)
        await Task.yield()
      }
      phone.map(LocalSocket.end)
    }
    #expect(start.duration(to: .now) >= .milliseconds(500))
    LocalSocket.end(listener)
  }
}

extension SocketCentralTests {
  @Test func `a link that ends with its connection is reported and not requested again`()
    async throws
  {
    let scratch = try Scratch()
    let listener = try LocalSocket.listen(on: scratch("radio"))
    let central = SocketCentral(path: scratch("radio"))
    let events = Mailbox<CentralEvent>()
    central.events { events.put($0) }
    let id = PeripheralID(UUID128(high: 1, low: 2))
    central.connect(id, attempt: AttemptID(1), isQueued: true)
    var bottle: Int32?
    while bottle == nil {
      bottle = LocalSocket.accept(on: listener)
      await Task.yield()
    }
    let descriptor = try #require(bottle)
    let advertisement = RadioFrame.advertisement(id, service: BottleAttribute.service, name: "B")
    _ = LocalSocket.write(advertisement.bytes, to: descriptor)
    var asked: [UInt8] = []
    while asked.isEmpty {
      asked += LocalSocket.read(descriptor) ?? []
      await Task.yield()
    }
    #expect(asked == RadioFrame.connect.bytes)
    // The number 22 is not a frame type.
    let link = RadioFrame.connected(longestValue: 100).bytes + [22, 0, 0]
    _ = LocalSocket.write(link, to: descriptor)
    #expect(await events.next() == .adapter(.on))
    #expect(await events.next() == .connected(AttemptID(1)))
    #expect(await events.next() == .disconnected(AttemptID(1), .timeout(.silence)))
    await central.close()
    LocalSocket.end(descriptor)
    LocalSocket.end(listener)
  }
}

/// Tests of the frames and events of a peripheral on a Unix socket.
@Suite(.timeLimit(.minutes(60)))
struct SocketPeripheralTests {
  private static let state = BottleAttribute.state.id
  private static let drinks = BottleAttribute.drinks.id

  @Test func `requests of a phone that is not linked are refused`() async throws {
    let radio = try RadioUnderTest()
    let requests: [RadioFrame] = [
      .discover(1, [Self.state]), .subscribe(2, Self.state), .read(3, Self.state),
      .write(4, Self.state, [1]),
    ]
    for request in requests { radio.send(request) }
    let replies: [RadioFrame] = [.reply(1, nil), .reply(2, nil), .reply(3, nil), .reply(4, nil)]
    #expect(await radio.frames(4) == replies)
    radio.close()
  }

  @Test func `a phone is notified only of values it has subscribed to on the current link`()
    async throws
  {
    let radio = try RadioUnderTest()
    for _ in 1...2 {
      await radio.link()
      radio.peripheral.notify(Self.state, [1])
      radio.send(.subscribe(1, Self.drinks))
      #expect(await radio.frames(1) == [.reply(1, [])])
      radio.peripheral.notify(Self.state, [2])
      radio.peripheral.notify(Self.drinks, [3])
      #expect(await radio.frames(1) == [.notification(Self.drinks, [3])])
      radio.send(.disconnect)
      #expect(await radio.events.next() == .disconnected)
      radio.peripheral.notify(Self.drinks, [4])
    }
    radio.close()
  }

  @Test func `a link that the peripheral ends is also reported`() async throws {
    let radio = try RadioUnderTest()
    await radio.link()
    radio.peripheral.disconnect()
    #expect(await radio.frames(1) == [.disconnected])
    #expect(await radio.events.next() == .disconnected)
    radio.close()
  }

  @Test func `a peripheral does not advertise while a phone is linked`()
    async throws
  {
    let radio = try RadioUnderTest()
    await radio.link()
    radio.peripheral.advertise(true)
    radio.send(.subscribe(1, Self.state))
    #expect(await radio.frames(1, withAdvertisements: true) == [.reply(1, [])])
    // The peripheral does not advertise to another phone either, and refuses its connection.
    let other = try RadioPhone(radio.path)
    other.send(.connect)
    #expect(await other.frames(1, withAdvertisements: true) == [.disconnected])
    other.end()
    radio.close()
  }
}

/// A peripheral with two characteristics, and a phone that exchanges frames with it.
private struct RadioUnderTest {
  let path: String
  let peripheral: SocketPeripheral
  let events = Mailbox<PeripheralEvent>()
  private let scratch: Scratch
  private let phone: RadioPhone

  init() throws {
    scratch = try Scratch()
    path = scratch("radio")
    peripheral = try SocketPeripheral(
      path: path, id: PeripheralID(UUID128(high: 1, low: 2)), service: BottleAttribute.service,
      name: "Bottle", characteristics: [BottleAttribute.state.id, BottleAttribute.drinks.id],
      longestValue: 100
    ) { [events] in events.put($0) }
    phone = try RadioPhone(path)
  }

  func send(_ frame: RadioFrame) { phone.send(frame) }

  func frames(_ count: Int, withAdvertisements isAll: Bool = false) async -> [RadioFrame] {
    await phone.frames(count, withAdvertisements: isAll)
  }

  /// Advertises, and waits until the phone is connected.
  func link() async {
    peripheral.advertise(true)
    send(.connect)
    #expect(await frames(1) == [.connected(longestValue: 100)])
    #expect(await events.next() == .connected(longestValue: 100))
  }

  func close() {
    phone.end()
    peripheral.close()
  }
}

/// A phone that sends and receives frames over a socket.
private final class RadioPhone: Sendable {
  private let queue = DispatchQueue(label: "holdfast.tests.phone")
  private let came = Mailbox<RadioFrame>()
  private let channel: FrameChannel

  init(_ path: String) throws {
    let descriptor = try #require(try LocalSocket.connect(to: path))
    channel = queue.sync { [queue, came] in
      FrameChannel(descriptor, on: queue) {
        came.put($0)
      } ended: {
      }
    }
  }

  func send(_ frame: RadioFrame) { queue.async { [channel] in channel.send(frame) } }

  /// Returns the next frames. By default, skips advertisements, which arrive every second.
  func frames(_ count: Int, withAdvertisements isAll: Bool = false) async -> [RadioFrame] {
    var frames: [RadioFrame] = []
    while frames.count < count, let frame = await came.next() {
      if case .advertisement = frame, !isAll { continue }
      frames.append(frame)
    }
    return frames
  }

  func end() { queue.async { [channel] in channel.end() } }
}

/// A fault of a peripheral that the contract suite must detect.
enum FarFault: CaseIterable, Sendable {
  case otherValue, takesEverything, otherName
}

/// A peripheral on a Unix socket.
final class SocketFar: FarPeripheral {
  let id = PeripheralID(UUID128(high: 1, low: 2))
  let service = BottleAttribute.service
  let characteristic = BottleAttribute.state.id
  let name: String
  private let fault: FarFault?
  private let events: Mailbox<FarPeripheralEvent>
  /// Whether this end is closing the connection. In that case, no event reports the disconnection.
  private let isEnding: Ending
  private let peripheral: SocketPeripheral

  private final class Ending: Sendable {
    private let isOn = Mutex(false)

    func begin() { isOn.withLock { $0 = true } }

    /// Resets the flag, and returns whether it was set.
    func finish() -> Bool {
      isOn.withLock { isOn in
        defer { isOn = false }
        return isOn
      }
    }
  }

  init(_ path: String, fault: FarFault? = nil) throws {
    self.fault = fault
    name = fault == .otherName ? "Another" : "Bottle"
    let (events, isEnding) = (Mailbox<FarPeripheralEvent>(), Ending())
    (self.events, self.isEnding) = (events, isEnding)
    peripheral = try SocketPeripheral(
      path: path, id: id, service: service, name: "Bottle", characteristics: [characteristic],
      longestValue: 100
    ) {
      switch $0 {
      case .connected: events.put(.connected)
      case .negotiated: return
      case .disconnected: if !isEnding.finish() { events.put(.disconnected) }
      case .read(let number, let id): events.put(.read(number, id))
      case .write(let number, let id, let bytes): events.put(.write(number, id, bytes))
      }
    }
  }

  func advertise(_ isOn: Bool) { peripheral.advertise(isOn) }

  func disconnect() {
    isEnding.begin()
    peripheral.disconnect()
  }

  func notify(_ bytes: [UInt8]) {
    peripheral.notify(characteristic, fault == .otherValue ? [] : bytes)
  }

  func changeServices() -> ServiceChangeReport {
    .impossible("no frame of the socket carries a change of services")
  }

  func reply(_ request: UInt16, _ bytes: [UInt8]?) {
    peripheral.reply(request, fault == .takesEverything ? bytes ?? [] : bytes)
  }

  func next() async -> FarPeripheralEvent? { await events.next() }

  func close() { peripheral.close() }
}
