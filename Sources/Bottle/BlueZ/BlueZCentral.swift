import HoldfastPorts

#if os(Linux)
  import Dispatch
  public import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastBottleData
  import HoldfastLinuxDevice

  /// A central that uses the Bluetooth radio of this machine through BlueZ on the system bus.
  ///
  /// The central uses the D-Bus interfaces Adapter1, Device1, GattCharacteristic1, GattManager1 and
  /// AdvertisementMonitorManager1 of bluez 5.66. The actor only translates; ``BlueZRadio`` contains
  /// the rules. The central does not start a daemon that is not running, and does not switch on an
  /// adapter that is off. While there is no bus, it tries to connect to the bus every 5 s.
  public actor BlueZCentral: Central, BlueZClient {
    private typealias Answer = CheckedContinuation<Result<[UInt8], LinkFailure>, Never>

    let queue = DispatchQueue(label: "holdfast.bluez")
    let executor: QueueExecutor
    private let standby: @Sendable (BlueZStandby?) -> Void
    private var radio: BlueZRadio
    private var deliver: (@Sendable (CentralEvent) -> Void)?
    private var answers: [BlueZRadio.RequestID: Answer] = [:]
    private var lastRequest: BlueZRadio.RequestID = 0
    var bus: BlueZBus

    /// The executor that runs the actor on the queue of the bus.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    /// Creates a central that delivers no events until `events` is called.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`; `nil` for the first one.
    ///   - services: The services that the wanted peripherals advertise. BlueZ uses them to wait
    ///     for the peripherals.
    ///   - address: A D-Bus address; `nil` for the system bus.
    ///   - standby: A function that is called when the standby that waits for peripherals changes,
    ///     with `nil` if there is none. It must return quickly.
    public init(
      adapter: String? = nil, services: [GATTID], address: String? = nil,
      standby: @escaping @Sendable (BlueZStandby?) -> Void = { _ in }
    ) {
      executor = QueueExecutor(queue)
      radio = BlueZRadio(adapter: adapter, services: services)
      bus = BlueZBus(address: address)
      self.standby = standby
    }

    public nonisolated func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
      enqueue { $0.begin(deliver) }
    }

    public nonisolated func scan(for services: [GATTID]) { feed(.scan(services)) }

    /// Stops the scan for peripherals. Pending connects remain.
    public nonisolated func stopScan() { feed(.stopScan) }

    public nonisolated func connect(
      _ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration
    ) {
      feed(.connect(id, attempt, isQueued: isQueued, after: rest))
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
      guard !bus.isClosed else { return }
      deliver = nil
      take(.close)
      closeBus()
      for answer in answers.values { answer.resume(returning: .failure(.reset)) }
      answers = [:]
    }

    // MARK: On the queue

    /// Begins to deliver events. After a close, the rules and the connection to the bus start over.
    private func begin(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
      self.deliver = deliver
      if bus.isClosed {
        bus.isClosed = false
        radio = BlueZRadio(adapter: radio.adapterName, services: radio.services)
      }
      open()
    }

    private nonisolated func feed(_ input: BlueZRadio.Input) { enqueue { $0.take(input) } }

    private func ask(
      _ attempt: AttemptID, _ request: BlueZRadio.Request
    ) async throws(LinkFailure) -> [UInt8] {
      guard !bus.isClosed else { throw .reset }
      lastRequest += 1
      let number = lastRequest
      return try await withCheckedContinuation { (answer: Answer) in
        answers[number] = answer
        take(.request(number, attempt, request))
      }.get()
    }

    private func take(_ input: BlueZRadio.Input) {
      guard !bus.isClosed else { return }
      perform(radio.handle(input, at: bus.clock.now))
    }

    private func perform(_ effects: [BlueZRadio.Effect]) {
      for effect in effects {
        switch effect {
        case .call(let id, let member): call(id, member)
        case .report(let event): deliver?(event)
        case .answer(let id, let result):
          answers.removeValue(forKey: id)?.resume(returning: result)
        case .standby(let kind): standby(kind)
        }
      }
      stepEnded()
    }

    var deadline: Instant? { radio.deadline }

    func tick() { perform(radio.tick(at: bus.clock.now)) }

    func receive(_ message: BlueZMessage) {
      guard case .called(let call, let number) = message else { return take(.bus(message)) }
      answer(number, BlueZExports.answer(call, radio.services))
      stepEnded()
      if let input = BlueZExports.input(call) { take(input) }
    }
  }
#endif
