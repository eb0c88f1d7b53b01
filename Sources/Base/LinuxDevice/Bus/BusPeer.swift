#if os(Linux)
  import CHoldfastSystemd
  import Glibc

  /// A method call or a signal.
  package struct BusMember: Sendable, Hashable {
    package var path: String
    package var interface: String
    package var name: String
    package var arguments: [BusData]

    package init(_ path: String, _ interface: String, _ name: String, _ arguments: [BusData] = []) {
      (self.path, self.interface, self.name) = (path, interface, name)
      self.arguments = arguments
    }
  }

  /// An error that a service returned.
  package struct BusRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the error, such as `org.bluez.Error.Failed`.
    package var name: String
    package var text: String

    package init(_ name: String, _ text: String = "") { (self.name, self.text) = (name, text) }

    package var description: String { text.isEmpty ? name : text }
  }

  /// A message received from a bus.
  package enum BusMessage: Sendable, Hashable {
    case signal(BusMember, sender: String)
    case answered(UInt64, [BusData])
    case refused(UInt64, BusRefusal)
    /// A call by another program, and the number that the reply must have.
    case call(BusMember, sender: String, UInt64)
  }

  /// A connection that makes calls, answers calls and receives signals.
  ///
  /// An instance must be used by one thread at a time. Only the initializer, `flush` and `ask`
  /// wait. For all else, the caller polls the descriptor and then takes the received messages.
  @safe package final class BusPeer {
    private let connection: BusConnection
    /// The received calls that have not been answered.
    private var calls: [UInt64: OpaquePointer] = unsafe [:]
    private var lastCall: UInt64 = 0

    /// Connects to a daemon, and returns once the daemon has answered.
    ///
    /// - Parameter address: A D-Bus address; `nil` for the daemon's own.
    package init(address: String?, or daemon: BusConnection.Daemon) throws(BusFailure) {
      connection = try BusConnection(address: address, or: daemon)
      try BusFailure.check(unsafe sd_bus_flush(connection.bus), "connect")
    }

    deinit {
      unsafe calls.values.forEach { unsafe sd_bus_message_unref($0) }
    }

    /// The descriptor to poll. It is readable when a message has arrived.
    package var descriptor: Int32 { unsafe sd_bus_get_fd(connection.bus) }

    /// Takes the received messages, in order.
    package func take() throws(BusFailure) -> [BusMessage] {
      var messages: [BusMessage] = []
      while true {
        var raw: OpaquePointer?
        let handled = unsafe sd_bus_process(connection.bus, &raw)
        defer { unsafe sd_bus_message_unref(raw) }
        try BusFailure.check(handled, "process")
        guard handled > 0 else { return messages }
        if let message = try unsafe message(raw) { messages.append(message) }
      }
    }

    /// Calls a method of a service. Returns the number that the reply will have.
    @discardableResult
    package func call(_ service: String, _ member: BusMember) throws(BusFailure) -> UInt64 {
      var raw: OpaquePointer?
      defer { unsafe sd_bus_message_unref(raw) }
      try BusFailure.check(
        unsafe sd_bus_message_new_method_call(
          connection.bus, &raw, service, member.path, member.interface, member.name), member.name)
      for argument in member.arguments { try unsafe BusWriter(message: raw).append(argument) }
      var number: UInt64 = 0
      try BusFailure.check(unsafe sd_bus_send(connection.bus, raw, &number), member.name)
      return number
    }

    /// Subscribes to the signals that match a rule (D-Bus Specification, Match Rules).
    package func listen(_ rule: String) throws(BusFailure) {
      try call(
        "org.freedesktop.DBus",
        BusMember("/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [.text(rule)]))
    }

    /// Sends a signal.
    package func emit(_ member: BusMember) throws(BusFailure) {
      var raw: OpaquePointer?
      defer { unsafe sd_bus_message_unref(raw) }
      try BusFailure.check(
        unsafe sd_bus_message_new_signal(
          connection.bus, &raw, member.path, member.interface, member.name), member.name)
      for argument in member.arguments { try unsafe BusWriter(message: raw).append(argument) }
      try BusFailure.check(unsafe sd_bus_send(connection.bus, raw, nil), member.name)
    }

    /// Returns the types of the arguments of a call that has not been answered.
    package func signature(of number: UInt64) -> String {
      guard let call = unsafe calls[number] else { return "" }
      return unsafe Self.text(sd_bus_message_get_signature(call, 1))
    }

    /// Replies to a call. A second reply is ignored.
    package func answer(_ number: UInt64, _ values: [BusData] = []) throws(BusFailure) {
      guard let call = unsafe calls.removeValue(forKey: number) else { return }
      defer { unsafe sd_bus_message_unref(call) }
      var raw: OpaquePointer?
      defer { unsafe sd_bus_message_unref(raw) }
      try BusFailure.check(unsafe sd_bus_message_new_method_return(call, &raw), "answer")
      for value in values { try unsafe BusWriter(message: raw).append(value) }
      try BusFailure.check(unsafe sd_bus_send(connection.bus, raw, nil), "answer")
    }

    /// Replies to a call with an error. A second reply is ignored.
    package func refuse(_ number: UInt64, _ refusal: BusRefusal) throws(BusFailure) {
      guard let call = unsafe calls.removeValue(forKey: number) else { return }
      defer { unsafe sd_bus_message_unref(call) }
      var raw: OpaquePointer?
      var error = unsafe sd_bus_error()
      defer {
        unsafe sd_bus_message_unref(raw)
        unsafe sd_bus_error_free(&error)
      }
      _ = unsafe sd_bus_error_set(&error, refusal.name, refusal.text)
      try BusFailure.check(unsafe sd_bus_message_new_method_error(call, &raw, &error), "refuse")
      try BusFailure.check(unsafe sd_bus_send(connection.bus, raw, nil), "refuse")
    }

    /// Acquires a name on the bus, or releases the name.
    package func own(_ name: String, _ isOwned: Bool = true) throws(BusFailure) {
      let result =
        isOwned
        ? unsafe sd_bus_request_name(connection.bus, name, 0)
        : unsafe sd_bus_release_name(connection.bus, name)
      try BusFailure.check(result, name)
    }

    /// Waits until all messages have been sent.
    package func flush() { _ = unsafe sd_bus_flush(connection.bus) }

    /// Calls a method and waits up to 5 s for the reply. Other messages are dropped.
    ///
    /// This is intended for a check before the connection is otherwise used.
    package func ask(_ service: String, _ member: BusMember) throws(BusFailure)
      -> Result<[BusData], BusRefusal>
    {
      let number = try call(service, member)
      while true {
        for message in try take() {
          switch message {
          case .answered(number, let values): return .success(values)
          case .refused(number, let refusal): return .failure(refusal)
          case .answered, .refused, .signal, .call: continue
          }
        }
        let waited = unsafe sd_bus_wait(connection.bus, 5_000_000)
        try BusFailure.check(waited == 0 ? -ETIMEDOUT : waited, member.name)
      }
    }

    private func message(_ raw: OpaquePointer?) throws(BusFailure) -> BusMessage? {
      guard let raw = unsafe raw else { return nil }
      var kind: UInt8 = 0
      var number: UInt64 = 0
      unsafe sd_bus_message_get_type(raw, &kind)
      unsafe sd_bus_message_get_reply_cookie(raw, &number)
      // These are the numbers of the message types (D-Bus Specification, Message Types).
      switch kind {
      case 1:
        let member = try unsafe member(raw)
        lastCall += 1
        unsafe calls[lastCall] = sd_bus_message_ref(raw)
        return unsafe .call(member, sender: sender(raw), lastCall)
      case 2: return .answered(number, try unsafe BusReader(message: raw).all())
      case 3: return unsafe .refused(number, refusal(raw))
      case 4: return unsafe .signal(try member(raw), sender: sender(raw))
      case _: return nil
      }
    }

    private func member(_ raw: OpaquePointer) throws(BusFailure) -> BusMember {
      let arguments = try unsafe BusReader(message: raw).all()
      return unsafe BusMember(
        Self.text(sd_bus_message_get_path(raw)), Self.text(sd_bus_message_get_interface(raw)),
        Self.text(sd_bus_message_get_member(raw)), arguments)
    }

    private func sender(_ raw: OpaquePointer) -> String {
      unsafe Self.text(sd_bus_message_get_sender(raw))
    }

    private func refusal(_ raw: OpaquePointer) -> BusRefusal {
      guard let error = unsafe sd_bus_message_get_error(raw) else { return BusRefusal("unknown") }
      return unsafe BusRefusal(Self.text(error.pointee.name), Self.text(error.pointee.message))
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String {
      unsafe text.map { unsafe String(cString: $0) } ?? ""
    }
  }
#endif
