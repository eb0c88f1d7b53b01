public import HoldfastPorts

#if os(Linux)
  import CHoldfastSystemd

  /// A notifier that shows notifications on the desktop of the user's session.
  ///
  /// The notifier uses org.freedesktop.Notifications (Desktop Notifications Specification 1.2). A
  /// call waits for the desktop on a separate queue, for at most two seconds. After a failure, the
  /// next call connects again.
  public actor DesktopNotifier: Notifier {
    private let executor = QueueExecutor(label: "holdfast.notifications")
    private let application: String
    private let address: String?
    private let limit: Duration
    private var desktop: Desktop?
    /// The desktop's ID of the current notification; `nil` if none is shown.
    private var shown: UInt32?

    /// The executor of the actor. It is separate from other tasks because calls on the bus block.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    /// Creates a notifier.
    ///
    /// - Parameters:
    ///   - application: The human-readable name of the sender.
    ///   - address: A D-Bus address; `nil` for the bus of the user's session.
    public init(application: String, address: String? = nil) {
      self.init(application: application, address: address, limit: .seconds(2))
    }

    /// Creates a notifier with a time limit for each call.
    package init(application: String, address: String?, limit: Duration) {
      self.application = application
      self.address = address
      self.limit = limit
    }

    /// Shows a notification, or updates the current one. Returns false if there is no desktop.
    public func show(_ notification: HostNotification) -> Bool {
      do throws(BusFailure) {
        let desktop = try connected()
        shown = try desktop.notify(notification, of: application, replacing: shown ?? 0)
        return true
      } catch {
        (desktop, shown) = (nil, nil)
        return false
      }
    }

    /// Removes the notification unless the user has already dismissed it.
    public func remove() {
      guard let number = shown else { return }
      shown = nil
      do throws(BusFailure) {
        try desktop?.close(number)
      } catch {
        desktop = nil
      }
    }

    private func connected() throws(BusFailure) -> Desktop {
      if let desktop { return desktop }
      let found = try Desktop(address: address, limit: limit)
      desktop = found
      return found
    }
  }

  /// The calls of org.freedesktop.Notifications. They must be made by one thread at a time.
  @safe private final class Desktop {
    private let connection: BusConnection
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// The time-out of a call in microseconds, the unit of sd-bus.
    private let timeout: UInt64

    init(address: String?, limit: Duration) throws(BusFailure) {
      timeout = UInt64(limit / .microseconds(1))
      connection = try BusConnection(address: address, or: .session)
    }

    func notify(
      _ notification: HostNotification, of application: String, replacing number: UInt32
    ) throws(BusFailure) -> UInt32 {
      var message = try Message(connection, "Notify")
      try message.append(application)
      try message.append(number)
      try message.append("")  // no icon
      try message.append(notification.title)
      try message.append(notification.body)
      try message.appendEmptyArray(of: "s")  // no actions
      try message.appendLowUrgency()
      try message.append(Int32(0))  // the notification never expires
      let reply = try message.call(connection, timeout: timeout)
      return try reply.number()
    }

    func close(_ number: UInt32) throws(BusFailure) {
      var message = try Message(connection, "CloseNotification")
      try message.append(number)
      _ = try message.call(connection, timeout: timeout)
    }

    /// A call or its reply. It is released at the end of its lifetime.
    @safe private struct Message: ~Copyable {
      private var raw: OpaquePointer?

      init(_ connection: BusConnection, _ member: String) throws(BusFailure) {
        try BusFailure.check(
          unsafe sd_bus_message_new_method_call(
            connection.bus, &raw, Desktop.name, Desktop.path, Desktop.name, member), member)
      }

      private init(reply: OpaquePointer?) {
        unsafe raw = reply
      }

      deinit {
        unsafe sd_bus_message_unref(raw)
      }

      mutating func append(_ text: String) throws(BusFailure) {
        // A D-Bus string must not contain a zero byte.
        let result = unsafe text.replacing("\0", with: " ").withCString {
          unsafe sd_bus_message_append_basic(raw, Self.code("s"), $0)
        }
        try BusFailure.check(result, "append")
      }

      mutating func append(_ number: UInt32) throws(BusFailure) {
        var number = number
        try BusFailure.check(
          unsafe sd_bus_message_append_basic(raw, Self.code("u"), &number), "append")
      }

      mutating func append(_ number: Int32) throws(BusFailure) {
        var number = number
        try BusFailure.check(
          unsafe sd_bus_message_append_basic(raw, Self.code("i"), &number), "append")
      }

      mutating func appendEmptyArray(of type: String) throws(BusFailure) {
        try open("a", type)
        try close()
      }

      /// Appends the hints. They contain an urgency of 0, so that the desktop plays no sound.
      mutating func appendLowUrgency() throws(BusFailure) {
        var urgency: UInt8 = 0
        try open("a", "{sv}")
        try open("e", "sv")
        try append("urgency")
        try open("v", "y")
        try BusFailure.check(
          unsafe sd_bus_message_append_basic(raw, Self.code("y"), &urgency), "append")
        for _ in 0..<3 { try close() }
      }

      borrowing func call(
        _ connection: BusConnection, timeout: UInt64
      ) throws(BusFailure) -> Message {
        var reply: OpaquePointer?
        try BusFailure.check(
          unsafe sd_bus_call(connection.bus, raw, timeout, nil, &reply), "call")
        return unsafe Message(reply: reply)
      }

      borrowing func number() throws(BusFailure) -> UInt32 {
        var number: UInt32 = 0
        try BusFailure.check(
          unsafe sd_bus_message_read_basic(raw, Self.code("u"), &number), "read")
        return number
      }

      private func open(_ kind: Unicode.Scalar, _ content: String) throws(BusFailure) {
        try BusFailure.check(
          unsafe sd_bus_message_open_container(raw, Self.code(kind), content), "open")
      }

      private func close() throws(BusFailure) {
        try BusFailure.check(unsafe sd_bus_message_close_container(raw), "close")
      }

      private static func code(_ type: Unicode.Scalar) -> CChar {
        CChar(bitPattern: UInt8(ascii: type))
      }
    }
  }
#endif
