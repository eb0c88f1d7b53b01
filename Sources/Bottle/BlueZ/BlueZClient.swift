#if os(Linux)
  import Dispatch
  import Glibc
  import HoldfastCore
  import HoldfastFeaturePorts
  import HoldfastLinuxDevice
  import HoldfastPorts

  /// A message from BlueZ.
  enum BlueZMessage: Sendable, Equatable {
    /// The daemon appeared on the bus or disappeared from it.
    case daemon(Bool)
    case added(String, BlueZObjects.Interfaces)
    case removed(String, [String])
    case changed(String, String, [String: BusData], without: [String])
    case answered(CallID, [BusData])
    case refused(CallID, BusRefusal)
    /// A call by the daemon, and the number that its reply must have.
    case called(BusMember, UInt64)

    /// The number that identifies a call of a client.
    typealias CallID = UInt64

    /// Creates the message for a signal from BlueZ; `nil` if the signal is not relevant.
    init?(_ signal: BusMember) {
      let arguments = signal.arguments
      switch (signal.interface, signal.name, arguments.count) {
      case (BlueZName.manager, "InterfacesAdded", 2):
        guard let path = arguments[0].text, let added = arguments[1].interfaces else { return nil }
        self = .added(path, added)
      case (BlueZName.manager, "InterfacesRemoved", 2):
        guard let path = arguments[0].text, let removed = arguments[1].texts else { return nil }
        self = .removed(path, removed)
      case (BlueZName.properties, "PropertiesChanged", 3):
        guard let interface = arguments[0].text, let values = arguments[1].properties,
          let without = arguments[2].texts
        else { return nil }
        self = .changed(signal.path, interface, values, without: without)
      case _: return nil
      }
    }
  }

  /// The state of a client's connection to the bus.
  struct BlueZBus {
    static let pause = DispatchTimeInterval.seconds(5)

    /// A D-Bus address; `nil` for the system bus.
    let address: String?
    let clock = BootClock()
    var peer: BusPeer?
    var source: (any DispatchSourceRead)?
    /// The unique name of the daemon.
    var owner: String?
    /// The pending call for the unique name of the daemon.
    var ownerCall: UInt64?
    var calls: [UInt64: BlueZMessage.CallID] = [:]
    var timer: UInt64 = 0
    var isClosed = false

    init(address: String?) { self.address = address }
  }

  /// An actor that exchanges messages with BlueZ and runs on the queue of its bus.
  ///
  /// The rules of the actor are a value. While there is no bus, the actor tries to connect to the
  /// bus every 5 s.
  protocol BlueZClient: Actor {
    /// The queue that the actor runs on.
    nonisolated var queue: DispatchQueue { get }
    /// The executor that runs the actor on the queue.
    nonisolated var executor: QueueExecutor { get }
    var bus: BlueZBus { get set }
    /// The next time at which the rules have to be called.
    var deadline: Instant? { get }
    func tick()
    func receive(_ message: BlueZMessage)
  }

  extension BlueZClient {
    /// Runs a job on the queue of the bus, in order with the actor's other jobs: a request does not
    /// overtake a cancel, nor a close a reply.
    nonisolated func enqueue(_ job: @escaping @Sendable (isolated Self) -> Void) {
      executor.async { self.assumeIsolated { job($0) } }
    }

    func open() {
      guard !bus.isClosed, bus.peer == nil else { return }
      do throws(BusFailure) {
        let peer = try BusPeer(address: bus.address, or: .system)
        bus.peer = peer
        try peer.listen(
          "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'")
        // The subscription comes before the list of objects, so that no change is missed.
        try peer.listen("type='signal',sender='org.bluez'")
        bus.ownerCall = try peer.call(
          "org.freedesktop.DBus",
          BusMember(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
            [.text(BlueZName.service)]))
        peer.flush()
        watch(peer.descriptor)
        read()
      } catch {
        failed()
      }
    }

    /// Closes the connection to the bus. Calls that have been sent are still delivered.
    func closeBus() {
      bus.isClosed = true
      forget()
    }

    func call(_ id: BlueZMessage.CallID, _ member: BusMember) {
      do throws(BusFailure) {
        if let number = try bus.peer?.call(BlueZName.service, member) { bus.calls[number] = id }
      } catch {
        // The next read detects that the bus was lost.
      }
    }

    func answer(_ number: UInt64, _ result: Result<[BusData], BusRefusal>) {
      switch result {
      case .success(let values): try? bus.peer?.answer(number, values)
      case .failure(let refusal): try? bus.peer?.refuse(number, refusal)
      }
    }

    /// Sends the queued calls to the bus, and schedules the next deadline of the rules.
    func stepEnded() {
      bus.peer?.flush()
      bus.timer += 1
      guard let due = deadline else { return }
      let (number, wait) = (bus.timer, bus.clock.now.duration(to: due).nanoseconds)
      queue.asyncAfter(deadline: .now() + .nanoseconds(max(Int(wait), 0))) { [weak self] in
        self?.assumeIsolated { client in
          if client.bus.timer == number, !client.bus.isClosed { client.tick() }
        }
      }
    }

    private func watch(_ descriptor: Int32) {
      // The source uses a copy, because it may use its descriptor for a short time after the bus
      // has closed its own.
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      let source = DispatchSource.makeReadSource(fileDescriptor: copy, queue: queue)
      source.setEventHandler { [weak self] in self?.assumeIsolated { $0.read() } }
      source.setCancelHandler { Glibc.close(copy) }
      source.activate()
      bus.source = source
    }

    private func forget() {
      bus.source?.cancel()
      (bus.source, bus.peer, bus.owner, bus.ownerCall, bus.calls) = (nil, nil, nil, nil, [:])
    }

    private func failed() {
      forget()
      receive(.daemon(false))
      queue.asyncAfter(deadline: .now() + BlueZBus.pause) { [weak self] in
        self?.assumeIsolated { $0.open() }
      }
    }

    private func read() {
      do throws(BusFailure) {
        for message in try bus.peer?.take() ?? [] { take(message) }
      } catch {
        failed()
      }
    }

    private func take(_ message: BusMessage) {
      switch message {
      case .answered(let number, let values):
        if number == bus.ownerCall { return turn(to: values.first?.text) }
        if let id = bus.calls.removeValue(forKey: number) { receive(.answered(id, values)) }
      case .refused(let number, let refusal):
        if number == bus.ownerCall, bus.owner == nil { return receive(.daemon(false)) }
        if let id = bus.calls.removeValue(forKey: number) { receive(.refused(id, refusal)) }
      case .signal(let signal, let sender):
        if signal.name == "NameOwnerChanged", sender == "org.freedesktop.DBus" {
          return turn(to: signal.arguments.last?.text)
        }
        if sender == bus.owner, let message = BlueZMessage(signal) { receive(message) }
      case .call(let call, let sender, let number):
        guard sender == bus.owner else {
          try? bus.peer?.refuse(number, BusRefusal("org.freedesktop.DBus.Error.AccessDenied"))
          return
        }
        receive(.called(call, number))
      }
    }

    /// Handles a change of the daemon's unique name; `nil` means that no daemon is running.
    private func turn(to name: String?) {
      let name = name?.isEmpty == true ? nil : name
      guard name != bus.owner else { return }
      if bus.owner != nil { receive(.daemon(false)) }
      bus.owner = name
      if name != nil { receive(.daemon(true)) }
    }
  }
#endif
