import CHoldfastSystemd
import Foundation
import Glibc
import HoldfastLinuxDevice
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of notifications with a private bus daemon and a fake desktop that records its calls.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct DesktopNotifierTests {
  /// Creates a notifier that waits for the desktop of a busy machine.
  private static func notifier(on bus: PrivateBus) -> DesktopNotifier {
    DesktopNotifier(application: "tests", address: bus.address, limit: .seconds(600))
  }

  @Test func `a notification is shown, changed and taken away`() async throws {
    let bus = try await PrivateBus()
    let desktop = try FakeDesktop(address: bus.address)
    let notifier = Self.notifier(on: bus)
    #expect(await notifier.show(HostNotification(title: "one", body: "first")))
    #expect(await notifier.show(HostNotification(title: "two", body: "se\0cond")))
    await notifier.remove()
    await notifier.remove()
    #expect(await notifier.show(HostNotification(title: "three", body: "")))
    #expect(
      await desktop.calls.next(4) == [
        .notify(application: "tests", replacing: 0, "one", "first", expires: 0),
        .notify(application: "tests", replacing: 1, "two", "se cond", expires: 0),
        .close(1),
        .notify(application: "tests", replacing: 0, "three", "", expires: 0),
      ])
    desktop.end()
  }

  @Test func `a notification without a bus or a desktop is not shown`() async throws {
    let nowhere = DesktopNotifier(application: "tests", address: "unix:path=/nowhere")
    #expect(await nowhere.show(HostNotification(title: "one", body: "")) == false)
    await nowhere.remove()
    let bus = try await PrivateBus()
    let notifier = Self.notifier(on: bus)
    #expect(await notifier.show(HostNotification(title: "one", body: "")) == false)
    let desktop = try FakeDesktop(address: bus.address)
    #expect(await notifier.show(HostNotification(title: "two", body: "")))
    desktop.end()
  }

  @Test func `notifications fail after the bus has ended`() async throws {
    let bus = try await PrivateBus()
    let desktop = try FakeDesktop(address: bus.address)
    let notifier = Self.notifier(on: bus)
    #expect(await notifier.show(HostNotification(title: "one", body: "")))
    desktop.end()
    await bus.end()
    #expect(await notifier.show(HostNotification(title: "two", body: "")) == false)
    await notifier.remove()
  }
}

/// A fake desktop that serves org.freedesktop.Notifications on its own thread.
private final class FakeDesktop: Sendable {
  enum Call: Sendable, Equatable {
    case notify(application: String, replacing: UInt32, String, String, expires: Int32)
    case close(UInt32)
  }

  /// The calls that the desktop received.
  let calls = Mailbox<Call>()
  private let isOver = Flag()

  /// Starts the desktop, and returns once it can receive calls.
  init(address: String) throws {
    let ready = DispatchSemaphore(value: 0)
    let began = Box()
    let thread = Thread { [calls, isOver] in
      do {
        let service = try Service(address: address, calls: calls)
        ready.signal()
        try service.serve { isOver.value.withLock { $0 } }
      } catch {
        began.code.withLock { $0 = (error as? BusError)?.code ?? EIO }
        ready.signal()
      }
    }
    thread.start()
    ready.wait()
    let code = began.code.withLock { $0 }
    if code != 0 { throw BusError(code: code) }
  }

  private final class Flag: Sendable {
    let value = Mutex(false)
  }

  private final class Box: Sendable {
    let code = Mutex<Int32>(0)
  }

  func end() { isOver.value.withLock { $0 = true } }

  struct BusError: Error {
    var code: Int32

    static func check(_ result: Int32) throws {
      if result < 0 { throw BusError(code: -result) }
    }
  }

  /// The bus connection of the desktop, used on one thread only.
  @safe private final class Service {
    private var bus: OpaquePointer?
    private let calls: Mailbox<Call>
    private var lastNumber: UInt32 = 0

    init(address: String, calls: Mailbox<Call>) throws {
      self.calls = calls
      try BusError.check(unsafe sd_bus_new(&bus))
      try BusError.check(unsafe sd_bus_set_address(bus, address))
      try BusError.check(unsafe sd_bus_set_bus_client(bus, 1))
      try BusError.check(unsafe sd_bus_start(bus))
      let answer: sd_bus_message_handler_t = { message, context, _ in
        guard let context = unsafe context, let message = unsafe message else { return 0 }
        let service = unsafe Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
        return unsafe service.answer(message)
      }
      let context = unsafe Unmanaged.passUnretained(self).toOpaque()
      try BusError.check(unsafe sd_bus_add_filter(bus, nil, answer, context))
      try BusError.check(unsafe sd_bus_request_name(bus, "org.freedesktop.Notifications", 0))
    }

    deinit {
      unsafe sd_bus_flush_close_unref(bus)
    }

    func serve(until isOver: () -> Bool) throws {
      while !isOver() {
        let handled = unsafe sd_bus_process(bus, nil)
        if handled < 0 { return }
        if handled == 0 { unsafe sd_bus_wait(bus, 20_000) }
      }
    }

    private func answer(_ message: OpaquePointer) -> Int32 {
      let name = "org.freedesktop.Notifications"
      if unsafe sd_bus_message_is_method_call(message, name, "Notify") > 0 {
        return unsafe notify(message)
      }
      if unsafe sd_bus_message_is_method_call(message, name, "CloseNotification") > 0 {
        var number: UInt32 = 0
        _ = unsafe sd_bus_message_read_basic(message, code("u"), &number)
        calls.put(.close(number))
        return unsafe reply(to: message, nil)
      }
      return 0
    }

    private func notify(_ message: OpaquePointer) -> Int32 {
      var (replaced, expires): (UInt32, Int32) = (0, -1)
      let application = unsafe text(message)
      _ = unsafe sd_bus_message_read_basic(message, code("u"), &replaced)
      _ = unsafe text(message)
      let (title, body) = unsafe (text(message), text(message))
      _ = unsafe sd_bus_message_skip(message, "asa{sv}")
      _ = unsafe sd_bus_message_read_basic(message, code("i"), &expires)
      calls.put(
        .notify(application: application, replacing: replaced, title, body, expires: expires))
      if replaced == 0 { lastNumber += 1 }
      return unsafe reply(to: message, replaced == 0 ? lastNumber : replaced)
    }

    private func reply(to message: OpaquePointer, _ number: UInt32?) -> Int32 {
      var reply: OpaquePointer?
      defer { unsafe sd_bus_message_unref(reply) }
      guard unsafe sd_bus_message_new_method_return(message, &reply) >= 0 else { return -EIO }
      if var number { _ = unsafe sd_bus_message_append_basic(reply, code("u"), &number) }
      _ = unsafe sd_bus_send(bus, reply, nil)
      return 1
    }

    private func text(_ message: OpaquePointer) -> String {
      var text: UnsafePointer<CChar>?
      guard unsafe sd_bus_message_read_basic(message, code("s"), &text) > 0,
        let text = unsafe text
      else { return "" }
      return unsafe String(cString: text)
    }

    private func code(_ type: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: type)) }
  }
}
