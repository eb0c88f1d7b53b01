#if os(Linux)
  import Dispatch
  import Glibc
  public import LinkCore
  public import LinkRuntime
  public import LinkWire
  import LinuxBus

  /// A central whose radio is that of this machine, through BlueZ on the system bus (bluez 5.66's
  /// D-Bus interfaces Adapter1, Device1, GattCharacteristic1, GattManager1 and
  /// AdvertisementMonitorManager1).
  ///
  /// It translates: the rules are those of ``BlueZRadio``. A daemon that does not run is not
  /// started, and an adapter that is off is not switched on. Without a bus it tries every 5 s.
  public actor BlueZCentral: Central {
    private typealias Answer = CheckedContinuation<Result<[UInt8], LinkFailure>, Never>

    private static let busPause = DispatchTimeInterval.seconds(5)

    private let queue = DispatchQueue(label: "holdfast.bluez")
    private let executor: QueueExecutor
    private let address: String?
    private let standby: @Sendable (BlueZStandby?) -> Void
    private let clock = BootClock()
    private var radio: BlueZRadio
    private var deliver: (@Sendable (CentralEvent) -> Void)?
    private var bus: BusPeer?
    private var source: (any DispatchSourceRead)?
    /// The unique name of the daemon.
    private var owner: String?
    /// The question who that is.
    private var ownerCall: UInt64?
    private var calls: [UInt64: BlueZRadio.CallID] = [:]
    private var answers: [BlueZRadio.RequestID: Answer] = [:]
    private var lastRequest: BlueZRadio.RequestID = 0
    private var timer: UInt64 = 0
    private var isClosed = false

    /// Runs on the queue of the bus.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    /// A central that is silent until `events` is called.
    ///
    /// - Parameters:
    ///   - adapter: such as `hci0`; `nil` is the first one.
    ///   - services: what the wanted peripherals advertise, so that BlueZ can wait for them.
    ///   - address: a D-Bus address; `nil` is the system bus.
    ///   - standby: called when what waits for peripherals changes; `nil` for nothing. Must return
    ///     quickly.
    public init(
      adapter: String? = nil, services: [GATTID], address: String? = nil,
      standby: @escaping @Sendable (BlueZStandby?) -> Void = { _ in }
    ) {
      executor = QueueExecutor(queue)
      radio = BlueZRadio(adapter: adapter, services: services)
      (self.address, self.standby) = (address, standby)
    }

    public nonisolated func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
      enqueue { central in
        central.deliver = deliver
        central.open()
      }
    }

    public nonisolated func scan(for services: [GATTID]) { feed(.scan(services)) }

    /// Stops looking for peripherals; connects that were asked for stay.
    public nonisolated func stopScan() { feed(.stopScan) }

    public nonisolated func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool) {
      feed(.connect(id, attempt, isQueued: isQueued))
    }

    public nonisolated func cancel(_ attempt: AttemptID) { feed(.cancel(attempt)) }

    public func discover(
      _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
    ) async throws(LinkFailure) {
      _ = try await ask(attempt, .discover(service, characteristics))
    }

    public func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) {
      _ = try await ask(attempt, .notify(characteristic))
    }

    public func read(
      _ characteristic: GATTID, of attempt: AttemptID
    ) async throws(LinkFailure) -> [UInt8] {
      try await ask(attempt, .read(characteristic))
    }

    public func write(
      _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
    ) async throws(LinkFailure) {
      _ = try await ask(attempt, .write(characteristic, bytes))
    }

    public func longestValue(of attempt: AttemptID) async -> Int {
      radio.longestValue(of: attempt)
    }

    public func close() async {
      guard !isClosed else { return }
      deliver = nil
      take(.close)
      isClosed = true
      closeBus()
      for answer in answers.values { answer.resume(returning: .failure(.reset)) }
      answers = [:]
    }

    // MARK: on the queue

    private nonisolated func enqueue(_ job: @escaping @Sendable (isolated BlueZCentral) -> Void) {
      queue.async { self.assumeIsolated { job($0) } }
    }

    private nonisolated func feed(_ input: BlueZRadio.Input) { enqueue { $0.take(input) } }

    private func ask(
      _ attempt: AttemptID, _ request: BlueZRadio.Request
    ) async throws(LinkFailure) -> [UInt8] {
      guard !isClosed else { throw .reset }
      lastRequest += 1
      let number = lastRequest
      return try await withCheckedContinuation { (answer: Answer) in
        answers[number] = answer
        take(.request(number, attempt, request))
      }.get()
    }

    private func take(_ input: BlueZRadio.Input) {
      guard !isClosed else { return }
      perform(radio.handle(input, at: clock.now))
    }

    private func perform(_ effects: [BlueZRadio.Effect]) {
      for effect in effects {
        switch effect {
        case .call(let id, let member): call(id, member)
        case .tell(let event): deliver?(event)
        case .answer(let id, let result):
          answers.removeValue(forKey: id)?.resume(returning: result)
        case .standby(let kind): standby(kind)
        }
      }
      bus?.flush()
      awaitDeadline()
    }

    private func awaitDeadline() {
      timer += 1
      guard let due = radio.deadline else { return }
      let (number, wait) = (timer, clock.now.duration(to: due).nanoseconds)
      queue.asyncAfter(deadline: .now() + .nanoseconds(max(Int(wait), 0))) { [weak self] in
        self?.assumeIsolated { central in
          guard central.timer == number, !central.isClosed else { return }
          central.perform(central.radio.tick(at: central.clock.now))
        }
      }
    }

    // MARK: the bus

    private func open() {
      guard !isClosed, bus == nil else { return }
      do throws(BusFailure) {
        let bus = try BusPeer(address: address, or: .system)
        self.bus = bus
        try bus.listen(
          "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'")
        // Before the objects are listed, so that none is missed.
        try bus.listen("type='signal',sender='org.bluez'")
        ownerCall = try bus.call(
          "org.freedesktop.DBus",
          BusMember(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
            [.text(BlueZName.service)]))
        bus.flush()
        watch(bus.descriptor)
        read()
      } catch {
        busFailed()
      }
    }

    private func watch(_ descriptor: Int32) {
      // A copy, since a source may look at it a little longer than the bus has it open.
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      let source = DispatchSource.makeReadSource(fileDescriptor: copy, queue: queue)
      source.setEventHandler { [weak self] in self?.assumeIsolated { $0.read() } }
      source.setCancelHandler { Glibc.close(copy) }
      source.activate()
      self.source = source
    }

    private func closeBus() {
      source?.cancel()
      (source, bus, owner, ownerCall, calls) = (nil, nil, nil, nil, [:])
    }

    private func busFailed() {
      closeBus()
      take(.daemon(false))
      queue.asyncAfter(deadline: .now() + Self.busPause) { [weak self] in
        self?.assumeIsolated { $0.open() }
      }
    }

    private func read() {
      do throws(BusFailure) {
        for message in try bus?.take() ?? [] { hear(message) }
      } catch {
        busFailed()
      }
    }

    private func call(_ id: BlueZRadio.CallID, _ member: BusMember) {
      do throws(BusFailure) {
        if let number = try bus?.call(BlueZName.service, member) { calls[number] = id }
      } catch {
        // A bus that is gone is seen when it is read.
      }
    }

    private func hear(_ message: BusMessage) {
      switch message {
      case .answered(let number, let values):
        if number == ownerCall {
          return turn(to: values.first?.text)
        }
        if let id = calls.removeValue(forKey: number) { take(.answered(id, values)) }
      case .refused(let number, let refusal):
        if number == ownerCall, owner == nil { return take(.daemon(false)) }
        if let id = calls.removeValue(forKey: number) { take(.refused(id, refusal)) }
      case .signal(let signal, let sender):
        if signal.name == "NameOwnerChanged", sender == "org.freedesktop.DBus" {
          return turn(to: signal.arguments.last?.text)
        }
        if sender == owner, let input = BlueZRadio.Input(signal) { take(input) }
      case .call(let call, let sender, let number):
        guard sender == owner else {
          try? bus?.refuse(number, BusRefusal("org.freedesktop.DBus.Error.AccessDenied"))
          return
        }
        answer(call, number)
      }
    }

    private func answer(_ call: BusMember, _ number: UInt64) {
      switch BlueZExports.answer(call, radio.services) {
      case .success(let values): try? bus?.answer(number, values)
      case .failure(let refusal): try? bus?.refuse(number, refusal)
      }
      bus?.flush()
      if let input = BlueZExports.input(call) { take(input) }
    }

    /// Another process is the daemon, or none.
    private func turn(to name: String?) {
      let name = name?.isEmpty == true ? nil : name
      guard name != owner else { return }
      if owner != nil { take(.daemon(false)) }
      owner = name
      if name != nil { take(.daemon(true)) }
    }
  }

  extension BlueZRadio.Input {
    /// What a signal of BlueZ means; `nil` for nothing.
    init?(_ signal: BusMember) {
      let arguments = signal.arguments
      switch (signal.interface, signal.name, arguments.count) {
      case (BlueZName.manager, "InterfacesAdded", 2):
        guard let path = arguments[0].text, let added = arguments[1].interfaces else { return nil }
        self = .added(path, added)
      case (BlueZName.manager, "InterfacesRemoved", 2):
        guard let path = arguments[0].text, let gone = arguments[1].texts else { return nil }
        self = .removed(path, gone)
      case (BlueZName.properties, "PropertiesChanged", 3):
        guard let interface = arguments[0].text, let values = arguments[1].properties,
          let without = arguments[2].texts
        else { return nil }
        self = .changed(signal.path, interface, values, without: without)
      case _: return nil
      }
    }
  }
#endif
