import CHoldfastSystemd
import Foundation
import Glibc
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastLinuxDevice

/// Tests of sleep events with a private bus daemon and a fake logind.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct LogindLifecycleTests {
  @Test func `sleep and wake-up are reported as events`() async throws {
    let bus = try await PrivateBus()
    let logind = try FakeLogind(address: bus.address, name: "org.freedesktop.login1")
    let (stream, said) = await listen(on: bus)
    var changes = stream
    try logind.prepareForSleep(true)
    #expect(await changes.next()?.event == .willSleep)
    try logind.prepareForSleep(false)
    #expect(await changes.next()?.event == .didWake)
    said.finish()
    #expect(await said.stream.first { _ in true } == nil)
  }

  @Test func `a sleep signal from another sender is ignored`() async throws {
    let bus = try await PrivateBus()
    let logind = try FakeLogind(address: bus.address, name: "org.freedesktop.login1")
    let stranger = try FakeLogind(address: bus.address, name: "org.example.Stranger")
    var (changes, _) = await listen(on: bus)
    try stranger.prepareForSleep(true)
    try stranger.flush()
    try logind.prepareForSleep(false)
    #expect(await changes.next()?.event == .didWake)
  }

  @Test func `a missing logind is reported once, and a later start is detected`() async throws {
    let bus = try await PrivateBus()
    var (changes, said) = await listen(on: bus)
    let note = await said.stream.first { _ in true }
    #expect(note == "logind is not on the bus; sleep is not detected until it starts.")
    let logind = try FakeLogind(address: bus.address, name: "org.freedesktop.login1")
    try logind.prepareForSleep(true)
    #expect(await changes.next()?.event == .willSleep)
  }

  @Test func `without a bus the stream ends and logs the reason once`() async {
    let said = Notes()
    let lifecycle = LogindLifecycle(address: "unix:path=/nowhere") { said.add($0) }
    var changes = lifecycle.changes().makeAsyncIterator()
    #expect(await changes.next() == nil)
    said.finish()
    var notes: [String] = []
    for await note in said.stream { notes.append(note) }
    #expect(notes == ["Sleep is not watched: connect: No such file or directory."])
  }

  @Test func `the stream ends when its bus ends`() async throws {
    let bus = try await PrivateBus()
    var (changes, _) = await listen(on: bus)
    await bus.end()
    #expect(await changes.next() == nil)
  }

  /// Starts a monitor, and returns once it cannot miss a signal.
  private func listen(
    on bus: PrivateBus
  ) async -> (AsyncStream<LifecycleNotice>.Iterator, Notes) {
    let said = Notes()
    let (listening, began) = AsyncStream.makeStream(of: Void.self)
    let lifecycle = LogindLifecycle(address: bus.address, note: { said.add($0) }) { began.finish() }
    let changes = lifecycle.changes().makeAsyncIterator()
    for await _ in listening {}
    return (changes, said)
  }
}

/// The human-readable notes of a monitor.
private struct Notes: Sendable {
  let stream: AsyncStream<String>
  private let continuation: AsyncStream<String>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream(of: String.self) }

  func add(_ note: String) { continuation.yield(note) }

  func finish() { continuation.finish() }
}

/// A bus client that owns a name and emits the sleep signal of logind.
@safe private final class FakeLogind {
  private var bus: OpaquePointer?

  init(address: String, name: String) throws {
    try Self.check(unsafe sd_bus_new(&bus))
    try Self.check(unsafe sd_bus_set_address(bus, address))
    try Self.check(unsafe sd_bus_set_bus_client(bus, 1))
    try Self.check(unsafe sd_bus_start(bus))
    try Self.check(unsafe sd_bus_request_name(bus, name, 0))
  }

  deinit {
    unsafe sd_bus_flush_close_unref(bus)
  }

  func prepareForSleep(_ begins: Bool) throws {
    var signal: OpaquePointer?
    defer { unsafe sd_bus_message_unref(signal) }
    try Self.check(
      unsafe sd_bus_message_new_signal(
        bus, &signal, "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
        "PrepareForSleep"))
    var value: Int32 = begins ? 1 : 0
    try Self.check(
      unsafe sd_bus_message_append_basic(signal, CChar(bitPattern: UInt8(ascii: "b")), &value))
    try Self.check(unsafe sd_bus_send(bus, signal, nil))
    try flush()
  }

  func flush() throws {
    try Self.check(unsafe sd_bus_flush(bus))
  }

  private static func check(_ result: Int32) throws {
    if result < 0 { throw BusError(code: -result) }
  }

  struct BusError: Error {
    var code: Int32
  }
}
