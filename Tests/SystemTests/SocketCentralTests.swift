import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

@testable import RadioSocket

/// A central over a Unix socket, before a peripheral on another.
@Suite(.timeLimit(.minutes(10)))
struct SocketCentralTests {
  @Test func `a radio on a socket keeps the contract`() async throws {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"))
    try await centralContract(SocketCentral(path: scratch("radio")), far: far)
    far.close()
  }

  @Test(arguments: FarFault.allCases)
  func `a peripheral that does not do its part is found out`(_ fault: FarFault) async throws {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"), fault: fault)
    await #expect(throws: ContractViolation.self) {
      try await centralContract(SocketCentral(path: scratch("radio")), far: far)
    }
    far.close()
  }

  @Test func `a connect leaves a peripheral alone as long as it was told to`() async throws {
    let scratch = try Scratch()
    let far = try SocketFar(scratch("radio"))
    let central = SocketCentral(path: scratch("radio"))
    let events = Mailbox<CentralEvent>()
    central.events { events.put($0) }
    far.advertise(true)
    let start = ContinuousClock.now
    central.connect(far.id, attempt: AttemptID(1), isQueued: true, after: .milliseconds(1_500))
    while let event = await events.next(), event != .connected(AttemptID(1)) {}
    #expect(start.duration(to: .now) >= .milliseconds(1_500), "two advertisements came before")
    await central.close()
    far.close()
  }

  @Test func `a connect that rests opens with that of another ticket`() async throws {
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

  @Test func `what hangs up at once is looked for four times a second`() async throws {
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

/// What a peripheral can do wrong, so that the contract is seen to fail.
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
  private let events = Mailbox<FarPeripheralEvent>()
  private let peripheral: SocketPeripheral

  init(_ path: String, fault: FarFault? = nil) throws {
    self.fault = fault
    name = fault == .otherName ? "Another" : "Bottle"
    peripheral = try SocketPeripheral(
      path: path, id: id, service: service, name: "Bottle", characteristics: [characteristic],
      longestValue: 100
    ) { [events] in
      switch $0 {
      case .connected: events.put(.connected)
      case .negotiated: return
      case .disconnected: events.put(.disconnected)
      case .read(let number, let id): events.put(.read(number, id))
      case .write(let number, let id, let bytes): events.put(.write(number, id, bytes))
      }
    }
  }

  func advertise(_ isOn: Bool) { peripheral.advertise(isOn) }

  func disconnect() { peripheral.disconnect() }

  func notify(_ bytes: [UInt8]) {
    peripheral.notify(characteristic, fault == .otherValue ? [] : bytes)
  }

  func reply(_ request: UInt16, _ bytes: [UInt8]?) {
    peripheral.reply(request, fault == .takesEverything ? bytes ?? [] : bytes)
  }

  func next() async -> FarPeripheralEvent? { await events.next() }

  func close() { peripheral.close() }
}
