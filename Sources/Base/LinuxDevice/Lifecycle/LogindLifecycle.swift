public import HoldfastPorts

#if os(Linux)
  import CHoldfastSystemd
  import Foundation
  import HoldfastDriver
  import HoldfastLinuxEvents

  /// A monitor of the device's sleep and wake-up, which logind reports.
  ///
  /// The monitor uses the signal PrepareForSleep (org.freedesktop.login1(5)). If there is no system
  /// bus, the stream ends immediately. The monitor does not delay sleep, so work that starts at
  /// `.willSleep` may not complete in time.
  public struct LogindLifecycle: LifecycleMonitor {
    private let address: String?
    private let note: @Sendable (String) -> Void
    private let listening: @Sendable () -> Void

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - address: A D-Bus address; `nil` for the system bus.
    ///   - note: A function that is called once, with a human-readable explanation, if sleep cannot
    ///     be watched.
    public init(address: String? = nil, note: @escaping @Sendable (String) -> Void = { _ in }) {
      self.init(address: address, note: note) {}
    }

    /// - Parameter listening: A function that is called once, as soon as no event can be missed.
    init(
      address: String?, note: @escaping @Sendable (String) -> Void,
      listening: @escaping @Sendable () -> Void
    ) {
      self.address = address
      self.note = note
      self.listening = listening
    }

    /// Returns the sleep and wake-up events that follow. If more than 64 events are unread, the
    /// oldest are dropped.
    public func changes() -> AsyncStream<LifecycleNotice> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: LifecycleNotice.self, bufferingPolicy: .bufferingNewest(64))
      let stop = StopSignal()
      continuation.onTermination = { _ in stop.send() }
      let (address, note, listening) = (address, note, listening)
      // sd-bus objects belong to one thread. This thread sleeps until a message arrives from the
      // bus.
      let thread = Thread {
        do throws(BusFailure) {
          let bus = try SleepBus(address: address) {
            continuation.yield(LifecycleNotice($0 ? .willSleep : .didWake))
          }
          if !bus.hasLogind {
            note("logind is not on the bus; sleep is not detected until it starts.")
          }
          listening()
          try bus.listen(until: stop)
        } catch {
          note("Sleep is not watched: \(error).")
        }
        continuation.finish()
      }
      thread.name = "logind"
      thread.start()
      return stream
    }
  }

  /// A connection that receives PrepareForSleep. It is for use by one thread.
  @safe private final class SleepBus {
    private static let logind = "org.freedesktop.login1"
    private let connection: BusConnection
    private let onChange: (Bool) -> Void

    init(address: String?, onChange: @escaping (Bool) -> Void) throws(BusFailure) {
      self.onChange = onChange
      connection = try BusConnection(address: address, or: .system)
      let answer: sd_bus_message_handler_t = { message, context, _ in
        var isGoingToSleep: Int32 = 0
        let kind = CChar(bitPattern: UInt8(ascii: "b"))
        guard let context = unsafe context,
          unsafe sd_bus_message_read_basic(message, kind, &isGoingToSleep) > 0
        else { return 0 }
        unsafe Unmanaged<SleepBus>.fromOpaque(context).takeUnretainedValue()
          .onChange(isGoingToSleep != 0)
        return 0
      }
      // The context stays valid: the match ends with the connection, which this object owns.
      let context = unsafe Unmanaged.passUnretained(self).toOpaque()
      try BusFailure.check(
        unsafe sd_bus_match_signal(
          connection.bus, nil, Self.logind, "/org/freedesktop/login1",
          "org.freedesktop.login1.Manager",
          "PrepareForSleep", answer, context), "match")
    }

    var hasLogind: Bool {
      var owner: OpaquePointer?
      defer { unsafe sd_bus_creds_unref(owner) }
      return unsafe sd_bus_get_name_creds(connection.bus, Self.logind, 0, &owner) >= 0
    }

    func listen(until stop: StopSignal) throws(BusFailure) {
      repeat {
        try connection.handle()
      } while connection.allowsWaiting(until: stop)
    }
  }
#endif
