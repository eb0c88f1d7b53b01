#if os(Linux)
  import LinkCore
  import LinkWire
  import LinuxBus

  /// The rules of a central over BlueZ: what was asked for and what the bus said go in, calls and
  /// events come out.
  ///
  ///     idle ──▶ connecting ──▶ open ──▶ closing ──▶ idle
  ///      ▲  ▲        │
  ///      │  └─ pausing ◀─ clearing      a failure: disconnect, wait, pause, try again
  ///
  /// While a peripheral is idle a scan looks for it if one ticket is not queued, and the best
  /// standby waits for it otherwise.
  struct BlueZRadio: Sendable {
    enum Input: Sendable, Equatable {
      case bus(BlueZMessage)
      /// The monitor saw a device; or it was released by BlueZ.
      case sighted(String)
      case monitorReleased
      case scan([GATTID])
      case stopScan
      case connect(PeripheralID, AttemptID, isQueued: Bool, after: Duration = .zero)
      case cancel(AttemptID)
      case request(RequestID, AttemptID, Request)
      case close
    }

    enum Effect: Sendable, Equatable {
      case call(CallID, BusMember)
      case tell(CentralEvent)
      case answer(RequestID, Result<[UInt8], LinkFailure>)
      /// What waits for the peripherals now.
      case standby(BlueZStandby?)
    }

    /// What is asked of a peripheral that is connected.
    enum Request: Sendable, Hashable {
      case discover(GATTID, [GATTID])
      case notify(GATTID)
      case read(GATTID)
      case write(GATTID, [UInt8])
    }

    typealias CallID = BlueZMessage.CallID
    typealias RequestID = UInt64

    /// How long services are waited for after a connect.
    static let discoveryLimit = Duration.seconds(20)
    /// How long an answer is waited for (Core Specification, volume 3, part F, 3.3.3).
    static let requestLimit = Duration.seconds(30)
    /// After which a daemon that restarts is one that is not there.
    static let restartLimit = Duration.seconds(30)
    /// The pause after a scan that could not begin.
    static let scanPause = Duration.seconds(5)

    /// The name of the adapter, such as `hci0`; `nil` is the first one.
    let adapterName: String?
    /// What peripherals of the standby advertise.
    let services: [GATTID]
    var objects = BlueZObjects()
    var daemon = Daemon.absent
    var told: AdapterState?
    var scan: [GATTID]?
    var discovery = Discovery.off
    /// The begin of the next scan of the standby, and its end while one runs.
    var paceAt: Instant?
    var paceEnd: Instant?
    var hasProfile = false
    var monitor = MonitorState.unasked
    var shownStandby: BlueZStandby?
    var peers: [PeripheralID: Peer] = [:]
    var requests: [RequestID: Pending] = [:]
    var calls: [CallID: Purpose] = [:]
    var lastCall: CallID = 0

    init(adapter: String?, services: [GATTID]) {
      (adapterName, self.services) = (adapter, services)
    }

    enum Daemon: Sendable, Hashable {
      case absent
      /// It was there and is gone, until a moment at which it counts as absent.
      case restarting(Instant)
      /// Its objects are being read.
      case loading
      case refused
      case ready
    }

    enum Discovery: Sendable, Hashable {
      case off
      case starting(CallID, tries: Int)
      case on
      /// It could not begin; the next try.
      case resting(Instant)
    }

    enum MonitorState: Sendable, Hashable {
      case unasked, asked, on, unsupported
    }

    enum Purpose: Sendable, Hashable {
      case load
      case start
      case register
      case monitor
      case connect(PeripheralID)
      case clear(PeripheralID)
      case recheck(RequestID)
      case request(RequestID)
      /// Its answer changes nothing.
      case nothing
    }

    /// One call: its time, and what it asks for so far.
    struct Step {
      let now: Instant
      var effects: [Effect] = []
    }

    mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
      var step = Step(now: now)
      take(input, &step)
      settle(&step)
      return step.effects
    }

    mutating func tick(at now: Instant) -> [Effect] {
      var step = Step(now: now)
      if case .restarting(let due) = daemon, due <= now { daemon = .absent }
      if case .resting(let due) = discovery, due <= now { discovery = .off }
      paceIsDue(&step)
      for id in peers.keys.sorted(by: { $0.id < $1.id }) { peerIsDue(id, &step) }
      for id in requests.keys.sorted() { requestIsDue(id, &step) }
      settle(&step)
      return step.effects
    }

    /// When it wants to be called; `nil` while only an input can change anything.
    var deadline: Instant? {
      var times = peers.values.compactMap(\.due) + requests.values.map(\.due)
      if case .restarting(let due) = daemon { times.append(due) }
      if case .resting(let due) = discovery { times.append(due) }
      times += [paceEnd, paceEnd == nil ? paceAt : nil].compactMap(\.self)
      return times.min()
    }

    private mutating func take(_ input: Input, _ step: inout Step) {
      switch input {
      case .bus(let message): take(message, &step)
      case .sighted(let path): sighted(path, &step)
      case .monitorReleased: monitor = .unsupported
      case .scan(let services): scan(services, &step)
      case .stopScan: scan = nil
      case .connect(let id, let attempt, let isQueued, let rest):
        let restsUntil = rest > .zero ? step.now.advanced(by: rest) : nil
        let ticket = Ticket(attempt: attempt, isQueued: isQueued, restsUntil: restsUntil)
        connect(id, ticket, &step)
      case .cancel(let attempt): cancel(attempt, &step)
      case .request(let id, let attempt, let request): ask(id, attempt, request, &step)
      case .close: close(&step)
      }
    }

    private mutating func take(_ message: BlueZMessage, _ step: inout Step) {
      switch message {
      case .daemon(let isThere): daemonChanged(isThere, &step)
      case .added(let path, let interfaces): added(path, interfaces, &step)
      case .removed(let path, let interfaces): removed(path, interfaces, &step)
      case .changed(let path, let interface, let values, let without):
        changed(path, interface, values, without, &step)
      case .answered(let call, let values):
        if let purpose = calls.removeValue(forKey: call) { answered(purpose, call, values, &step) }
      case .refused(let call, let refusal):
        if let purpose = calls.removeValue(forKey: call) { refused(purpose, call, refusal, &step) }
      case .called: return  // answered from what it exports
      }
    }

    /// What must follow every step.
    private mutating func settle(_ step: inout Step) {
      tellAdapter(&step)
      settleStandby(&step)
      settleDiscovery(&step)
    }

    private mutating func close(_ step: inout Step) {
      for (id, peer) in peers {
        guard peer.phase.isBusy, let device = device(id) else { continue }
        call(BusMember(device, BlueZName.device, "Disconnect"), for: .nothing, &step)
      }
      if case .on = discovery { stopDiscovery(&step) }
      drop(&step)
      (scan, discovery) = (nil, .off)
    }

    // MARK: calls

    @discardableResult
    mutating func call(
      _ member: BusMember, for purpose: Purpose, _ step: inout Step
    ) -> CallID {
      lastCall += 1
      calls[lastCall] = purpose
      step.effects.append(.call(lastCall, member))
      return lastCall
    }

    private mutating func answered(
      _ purpose: Purpose, _ call: CallID, _ values: [BusData], _ step: inout Step
    ) {
      switch purpose {
      case .load: loaded(values, &step)
      case .start: discoveryBegan(call)
      case .register: registered(&step)
      case .monitor: if monitor == .asked { monitor = .on }
      case .connect(let id): connectEnded(id, call, nil, &step)
      case .clear(let id): cleared(id, call, &step)
      case .recheck(let id): rechecked(id, values, &step)
      case .request(let id): requestEnded(id, values, &step)
      case .nothing: return
      }
    }

    private mutating func refused(
      _ purpose: Purpose, _ call: CallID, _ refusal: BusRefusal, _ step: inout Step
    ) {
      switch purpose {
      case .load:
        // Anything else than a lack of rights ends with the daemon, which is told besides.
        daemon = refusal.name.hasSuffix("AccessDenied") ? .refused : .absent
      case .start: discoveryRefused(call, refusal, &step)
      // BlueZ keeps what it took while the adapter is off.
      case .register: if refusal.isThere { registered(&step) } else { hasProfile = false }
      case .monitor: monitor = refusal.isThere ? .on : .unsupported
      case .connect(let id):
        if refusal.name == "org.bluez.Error.AlreadyConnected" {
          connectEnded(id, call, nil, &step)
        } else {
          connectEnded(id, call, ConnectFault(refusal), &step)
        }
      case .clear(let id): cleared(id, call, &step)
      case .recheck(let id): rechecked(id, [], &step)
      case .request(let id): requestRefused(id, refusal, &step)
      case .nothing: return
      }
    }
  }
#endif
