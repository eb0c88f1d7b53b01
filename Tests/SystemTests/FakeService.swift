import CHoldfastSystemd
import Foundation
import Synchronization

/// A fake service on a bus. A test sets its properties, and a thread serves it until `end()`.
final class FakeService: Sendable {
  /// The value of a property.
  enum Value: Sendable {
    case boolean(Bool)
    case number(UInt32)
    case text(String)
  }

  private struct State {
    var values: [String: Value]
    var isChanged = false
    var isEnded = false
  }

  private let state: Mutex<State>

  /// Starts the service, and returns once it owns its name.
  init(address: String, name: String, at path: String, _ values: [String: Value]) async throws {
    state = Mutex(State(values: values))
    let (started, continuation) = AsyncThrowingStream.makeStream(of: Void.self)
    Thread.detachNewThread { [self] in
      do {
        let bus = try ServiceBus(address: address, name: name, path: path, self)
        continuation.finish()
        try bus.serve()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    for try await _ in started {}
  }

  /// Sets a property, and makes the service emit `PropertiesChanged`.
  func set(_ name: String, _ value: Value) {
    state.withLock { state in
      state.values[name] = value
      state.isChanged = true
    }
  }

  /// Disconnects the service from the bus.
  func end() { state.withLock { $0.isEnded = true } }

  fileprivate func value(of name: String) -> Value? { state.withLock { $0.values[name] } }

  fileprivate var isEnded: Bool { state.withLock(\.isEnded) }

  fileprivate func takeChange() -> Bool {
    state.withLock { state in
      defer { state.isChanged = false }
      return state.isChanged
    }
  }
}

/// The bus connection of a service, used only on the service's thread.
@safe private final class ServiceBus {
  private var bus: OpaquePointer?
  private let path: String
  private let service: FakeService

  init(address: String, name: String, path: String, _ service: FakeService) throws {
    (self.path, self.service) = (path, service)
    try Self.check(unsafe sd_bus_new(&bus))
    try Self.check(unsafe sd_bus_set_address(bus, address))
    try Self.check(unsafe sd_bus_set_bus_client(bus, 1))
    try Self.check(unsafe sd_bus_start(bus))
    let answer: sd_bus_message_handler_t = { call, context, _ in
      guard let context = unsafe context else { return 0 }
      return unsafe Unmanaged<ServiceBus>.fromOpaque(context).takeUnretainedValue().answer(call)
    }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    try Self.check(unsafe sd_bus_add_object(bus, nil, path, answer, context))
    try Self.check(unsafe sd_bus_request_name(bus, name, 0))
  }

  deinit { unsafe sd_bus_flush_close_unref(bus) }

  func serve() throws {
    while !service.isEnded {
      while unsafe sd_bus_process(bus, nil) > 0 {}
      if service.takeChange() { try sendChange() }
      // Wait at most 20 ms, because `set` does not wake this thread.
      try Self.check(unsafe sd_bus_wait(bus, 20_000))
    }
  }

  private func sendChange() throws {
    var signal: OpaquePointer?
    defer { unsafe sd_bus_message_unref(signal) }
    try Self.check(
      unsafe sd_bus_message_new_signal(
        bus, &signal, path, "org.freedesktop.DBus.Properties", "PropertiesChanged"))
    try Self.check(unsafe sd_bus_send(bus, signal, nil))
  }

  /// Answers calls of `Get`, and ignores all other calls.
  private func answer(_ call: OpaquePointer?) -> Int32 {
    guard
      unsafe sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get") > 0
    else { return 0 }
    let text = CChar(bitPattern: UInt8(ascii: "s"))
    var name: UnsafePointer<CChar>?
    var reply: OpaquePointer?
    defer { unsafe sd_bus_message_unref(reply) }
    guard unsafe sd_bus_message_read_basic(call, text, &name) > 0,
      unsafe sd_bus_message_read_basic(call, text, &name) > 0, let found = unsafe name,
      let value = service.value(of: unsafe String(cString: found)),
      unsafe sd_bus_message_new_method_return(call, &reply) >= 0,
      unsafe append(value, to: reply)
    else { return 0 }
    return unsafe sd_bus_send(bus, reply, nil) >= 0 ? 1 : 0
  }

  private func append(_ value: FakeService.Value, to reply: OpaquePointer?) -> Bool {
    let variant = CChar(bitPattern: UInt8(ascii: "v"))
    switch value {
    case .boolean(let isTrue):
      var number: Int32 = isTrue ? 1 : 0
      unsafe sd_bus_message_open_container(reply, variant, "b")
      unsafe sd_bus_message_append_basic(reply, CChar(bitPattern: UInt8(ascii: "b")), &number)
    case .number(var number):
      unsafe sd_bus_message_open_container(reply, variant, "u")
      unsafe sd_bus_message_append_basic(reply, CChar(bitPattern: UInt8(ascii: "u")), &number)
    case .text(let text):
      unsafe sd_bus_message_open_container(reply, variant, "s")
      _ = unsafe text.withCString {
        unsafe sd_bus_message_append_basic(reply, CChar(bitPattern: UInt8(ascii: "s")), $0)
      }
    }
    return unsafe sd_bus_message_close_container(reply) >= 0
  }

  private static func check(_ result: Int32) throws {
    if result < 0 { throw BusError(code: -result) }
  }

  struct BusError: Error {
    var code: Int32
  }
}
