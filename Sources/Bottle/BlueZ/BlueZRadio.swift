#if os(Linux)
  import HoldfastCore
  import HoldfastBottleData
  import HoldfastLinuxDevice

  /// The rules of a central that uses BlueZ. They turn commands and bus messages into calls and
  /// events.
  ///
  ///     idle ──▶ connecting ──▶ open ──▶ closing ──▶ idle
  ///      ▲  ▲        │
  ///      │  └─ pausing ◀─ clearing      a failure: disconnect, wait, pause, try again
  ///
  /// Discovery searches for an idle peripheral if one of its tickets is not queued. Otherwise the
  /// best standby waits for the peripheral.
  struct BlueZRadio: Sendable {
    enum Input: Sendable, Equatable {
      case bus(BlueZMessage)
      /// The monitor detected the device with this path.
      case detected(String)
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
      case report(CentralEvent)
      case answer(RequestID, Result<[UInt8], LinkFailure>)
      /// The standby that now waits for peripherals changed; `nil` if there is none.
      case standby(BlueZStandby?)
    }

    /// A request to a connected peripheral.
    enum Request: Sendable, Hashable {
      case discover(GATTID, [GATTID])
      case notify(GATTID)
      case read(GATTID)
      case write(GATTID, [UInt8])
    }

    typealias CallID = BlueZMessage.CallID
    typealias RequestID = UInt64

    /// The maximum time for which a request waits for the services after a connect.
    static let discoveryLimit = Duration.seconds(20)
    /// The maximum time for which a request waits for a response (Core Specification, volume 3,
    /// part F, 3.3.3).
    static let requestLimit = Duration.seconds(30)
    /// The time after which a daemon that is restarting is considered absent.
    static let restartLimit = Duration.seconds(30)
    /// The pause after a discovery that failed to start.
    static let scanPause = Duration.seconds(5)

    /// The name of the adapter, such as `hci0`; `nil` for the first one.
    let adapterName: String?
    /// The services by which a standby recognizes peripherals.
    let services: [GATTID]
    var objects = BlueZObjects()
    var daemon = Daemon.absent
    var reported: AdapterState?
    var scan: [GATTID]?
    var discovery = Discovery.off
    /// The start of the standby's next scan, and the end of the current one.
    var paceAt: Instant?
    var paceEnd: Instant?
    var hasProfile = false
    var monitor = MonitorState.notRequested
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
      /// The daemon disappeared. It is considered absent at this time.
      case restarting(Instant)
      /// The daemon's objects are being read.
      case loading
      case refused
      case ready
    }

    enum Discovery: Sendable, Hashable {
      case off
      case starting(CallID, tries: Int)
      case on
      /// Discovery failed to start. It is retried at this time.
      case resting(Instant)
    }

    enum MonitorState: Sendable, Hashable {
      case notRequested, asked, on, unsupported
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
      /// The reply has no effect.
      case nothing
    }

    /// A call of the machine, with its time and the effects so far.
    struct Step {
      let now: Instant
      var effects: [Effect] = []
    }

    mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
      var step = Step(now: now)
      take(input, &step)
      stepEnded(&step)
      return step.effects
    }

    mutating func tick(at now: Instant) -> [Effect] {
      var step = Step(now: now)
      if case .restarting(let due) = daemon, due <= now { daemon = .absent }
      if case .resting(let due) = discovery, due <= now { discovery = .off }
      paceIsDue(&step)
      for id in peers.keys.sorted(by: { $0.id < $1.id }) { peerIsDue(id, &step) }
      for id in requests.keys.sorted() { requestIsDue(id, &step) }
      stepEnded(&step)
      return step.effects
    }

    /// The next time at which the machine must be called; `nil` while only an input can change it.
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
      case .detected(let path): detected(path, &step)
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
      case .called: return  // The exported objects reply.
      }
    }

    /// Updates all parts that depend on the state. It is called after every step.
    private mutating func stepEnded(_ step: inout Step) {
      reportAdapter(&step)
      updateStandby(&step)
      updateDiscovery(&step)
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

    // MARK: Calls

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
        // Any other refusal means that the daemon has ended, which is reported separately.
        daemon = refusal.name.hasSuffix("AccessDenied") ? .refused : .absent
      case .start: discoveryRefused(call, refusal, &step)
      // BlueZ keeps a registered application while the adapter is off.
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

  // Messages from the bus: the daemon, its adapter and its objects.
  extension BlueZRadio {
    /// The path of the adapter in use.
    var adapter: String? { objects.adapter(adapterName) }

    /// Returns the path of a peripheral's object, even if the object does not exist.
    func path(of id: PeripheralID) -> String? {
      adapter.flatMap { adapter in BlueZAddress(id)?.path(below: adapter) }
    }

    /// Returns the path of a peripheral's object; `nil` if BlueZ has no such object.
    func device(_ id: PeripheralID) -> String? {
      path(of: id).flatMap { objects[$0, BlueZName.device] == nil ? nil : $0 }
    }

    func id(ofDevice path: String) -> PeripheralID? {
      adapter.flatMap { BlueZAddress(path: path, below: $0)?.id }
    }

    var isOn: Bool { reported == .on }

    mutating func daemonChanged(_ isThere: Bool, _ step: inout Step) {
      objects = BlueZObjects()
      if isThere {
        daemon = .loading
        call(BusMember("/", BlueZName.manager, "GetManagedObjects"), for: .load, &step)
        return
      }
      switch daemon {
      case .absent, .restarting: return
      case .loading, .refused, .ready:
        daemon = .restarting(step.now.advanced(by: Self.restartLimit))
      }
    }

    mutating func loaded(_ values: [BusData], _ step: inout Step) {
      guard daemon == .loading else { return }
      daemon = .ready
      objects = BlueZObjects(values.first?.objects ?? [:])
    }

    /// The current state of the radio; `nil` while the objects are being read.
    private var state: AdapterState? {
      switch daemon {
      case .absent: return .unsupported
      case .restarting: return .resetting
      case .loading: return nil
      case .refused: return .unauthorised
      case .ready:
        guard let adapter else { return .unsupported }
        let isPowered = objects[adapter, BlueZName.adapter, "Powered"]?.boolean ?? false
        return isPowered ? .on : .off
      }
    }

    mutating func reportAdapter(_ step: inout Step) {
      guard let state, state != reported else { return }
      if reported == .on { drop(&step) }
      reported = state
      if state == .on { begin(&step) }
      step.effects.append(.report(.adapter(state)))
    }

    /// Registers the profile that lets BlueZ connect by itself.
    private mutating func begin(_ step: inout Step) {
      guard let adapter, objects[adapter, BlueZName.gattManager] != nil, !services.isEmpty else {
        return
      }
      call(
        BusMember(
          adapter, BlueZName.gattManager, "RegisterApplication",
          [.path(BlueZExports.application), .properties([:])]), for: .register, &step)
    }

    /// Removes the state that is no longer valid without the adapter: tickets, requests, and
    /// registrations with BlueZ.
    mutating func drop(_ step: inout Step) {
      for id in requests.keys.sorted() { step.effects.append(.answer(id, .failure(.reset))) }
      (requests, peers, calls) = ([:], [:], calls.filter { $0.value == .load })
      (discovery, paceAt, paceEnd, hasProfile, monitor) = (.off, nil, nil, false, .notRequested)
    }

    mutating func added(
      _ path: String, _ interfaces: BlueZObjects.Interfaces, _ step: inout Step
    ) {
      guard daemon == .ready else { return }
      objects.add(path, interfaces)
      if let device = interfaces[BlueZName.device] {
        if device["RSSI"] != nil { advertised(path, &step) }
        if device["Connected"]?.boolean == true { connectedChanged(path, true, &step) }
      }
      if interfaces[BlueZName.characteristic] != nil {
        reportChange(below: path, &step)
        verifyAll(below: path, &step)
      }
    }

    mutating func removed(_ path: String, _ interfaces: [String], _ step: inout Step) {
      objects.remove(path, interfaces)
      if interfaces.contains(BlueZName.characteristic) { partRemoved(path) }
      guard interfaces.contains(BlueZName.device), let id = id(ofDevice: path) else { return }
      deviceRemoved(id, &step)
    }

    mutating func changed(
      _ path: String, _ interface: String, _ values: [String: BusData], _ without: [String],
      _ step: inout Step
    ) {
      guard daemon == .ready else { return }
      objects.change(path, interface, values, without: without)
      switch interface {
      case BlueZName.device:
        if values["RSSI"] != nil { advertised(path, &step) }
        if let isConnected = values["Connected"]?.boolean {
          connectedChanged(path, isConnected, &step)
        }
        if values["ServicesResolved"]?.boolean == true { verifyAll(below: path, &step) }
      case BlueZName.characteristic:
        if let value = values["Value"]?.bytes { valueChanged(path, value, &step) }
      case _: return
      }
    }

    /// Handles an advertisement from a device.
    private mutating func advertised(_ path: String, _ step: inout Step) {
      guard let id = id(ofDevice: path) else { return }
      reportIfScanned(path, &step)
      connectIfIdle(id, isDetected: true, &step)
    }

    mutating func detected(_ path: String, _ step: inout Step) {
      if let id = id(ofDevice: path) { connectIfIdle(id, isDetected: true, &step) }
    }
  }

  // Discovery and standby.
  extension BlueZRadio {
    /// The maximum number of attempts to start discovery. If all fail, another program is using it.
    static let startLimit = 4

    mutating func scan(_ services: [GATTID], _ step: inout Step) {
      scan = services
      if case .on = discovery { setFilter(&step) }
      // BlueZ does not report known devices again. These include devices that another program
      // discovered, and connected devices that no longer advertise.
      for path in objects.all.keys.sorted() {
        guard let device = objects[path, BlueZName.device],
          device["RSSI"] != nil || device["Connected"]?.boolean == true
        else { continue }
        reportIfScanned(path, &step)
      }
    }

    /// Reports a device if the app scans for it. BlueZ merges the filters of all programs, so other
    /// devices also arrive.
    mutating func reportIfScanned(_ path: String, _ step: inout Step) {
      guard isOn, let scan, let id = id(ofDevice: path),
        !objects.services(of: path).isDisjoint(with: scan)
      else { return }
      let name = objects[path, BlueZName.device, "Name"]?.text
      step.effects.append(.report(.found(id, name: name)))
    }

    /// Whether discovery should run. It pauses during a connect, because many controllers cannot do
    /// both.
    private var wantsDiscovery: Bool {
      guard isOn, !peers.values.contains(where: \.phase.isConnecting) else { return false }
      let isSearching = peers.contains { id, peer in
        peer.phase == .idle && peer.tickets.contains { !$0.isQueued } && device(id) == nil
      }
      return scan != nil || isSearching || paceEnd != nil
    }

    mutating func updateDiscovery(_ step: inout Step) {
      switch (discovery, wantsDiscovery) {
      case (.off, true): startDiscovery(tries: 1, &step)
      case (.on, false): stopDiscovery(&step)
      case (.resting, false): discovery = .off
      // BlueZ refuses to stop a discovery that it is starting, which would then run for ever.
      case (.starting, false): return
      case (.off, false), (.on, true), (.starting, true), (.resting, true): return
      }
    }

    private mutating func setFilter(_ step: inout Step) {
      guard let adapter else { return }
      var filter: [String: BusData] = ["Transport": .text("le")]
      if !services.isEmpty {
        filter["UUIDs"] = .texts(Set((scan ?? []) + services).map(\.description).sorted())
      }
      call(
        BusMember(adapter, BlueZName.adapter, "SetDiscoveryFilter", [.properties(filter)]),
        for: .nothing, &step)
    }

    private mutating func startDiscovery(tries: Int, _ step: inout Step) {
      guard let adapter else { return }
      setFilter(&step)
      let call = call(
        BusMember(adapter, BlueZName.adapter, "StartDiscovery"), for: .start, &step)
      discovery = .starting(call, tries: tries)
    }

    mutating func stopDiscovery(_ step: inout Step) {
      discovery = .off
      guard let adapter else { return }
      call(BusMember(adapter, BlueZName.adapter, "StopDiscovery"), for: .nothing, &step)
    }

    mutating func discoveryBegan(_ call: CallID) {
      if case .starting(call, _) = discovery { discovery = .on }
    }

    /// Handles a refusal to start discovery. Stops a discovery that an earlier run left running,
    /// and tries again.
    mutating func discoveryRefused(_ call: CallID, _ refusal: BusRefusal, _ step: inout Step) {
      guard case .starting(call, let tries) = discovery else { return }
      guard refusal.name == "org.bluez.Error.InProgress", tries < Self.startLimit else {
        discovery = .resting(step.now.advanced(by: Self.scanPause))
        return
      }
      stopDiscovery(&step)
      if wantsDiscovery { startDiscovery(tries: tries + 1, &step) }
    }

    // MARK: Standby

    /// Returns the facts that determine which standby serves a peripheral.
    func facts(of id: PeripheralID) -> StandbyFacts {
      let properties = device(id).flatMap { objects[$0, BlueZName.device] } ?? [:]
      let isRandom = properties["AddressType"]?.text == "random"
      let isPaired = properties["Paired"]?.boolean == true
      return StandbyFacts(
        hasProfile: hasProfile, isStored: isPaired || properties["Trusted"]?.boolean == true,
        addressChanges: isRandom && !isPaired && BlueZAddress(id)?.changesIfRandom == true,
        hasMonitor: monitor == .on)
    }

    /// Returns the standby that serves a waiting peripheral; `nil` if the peripheral does not wait.
    private func kind(for id: PeripheralID) -> BlueZStandby? {
      guard let peer = peers[id], peer.phase.waits,
        peer.tickets.contains(where: { $0.isQueued && $0.restsUntil == nil })
      else { return nil }
      return .best(facts(of: id))
    }

    mutating func updateStandby(_ step: inout Step) {
      let all = isOn ? peers.keys.compactMap { kind(for: $0) } : []
      // If peripherals need different standbys, the one that requires the most work of this program
      // is chosen.
      let standby = BlueZStandby.allCases.last { all.contains($0) }
      askForMonitor(standby, &step)
      if let standby {
        if standby != shownStandby {
          paceAt = step.now.advanced(by: standby == .pacedScan ? .zero : standby.interval)
        }
        if let paceAt, paceAt <= step.now, paceEnd == nil { beginPace(standby, step.now) }
      } else {
        (paceAt, paceEnd) = (nil, nil)
      }
      guard standby != shownStandby else { return }
      shownStandby = standby
      step.effects.append(.standby(standby))
    }

    private mutating func askForMonitor(_ standby: BlueZStandby?, _ step: inout Step) {
      guard standby == .pacedScan, monitor == .notRequested, !services.isEmpty, let adapter else {
        return
      }
      let types = objects[adapter, BlueZName.monitorManager, "SupportedMonitorTypes"]?.texts ?? []
      guard types.contains("or_patterns") else {
        monitor = .unsupported
        return
      }
      monitor = .asked
      call(
        BusMember(
          adapter, BlueZName.monitorManager, "RegisterMonitor", [.path(BlueZExports.monitors)]),
        for: .monitor, &step)
    }

    private mutating func beginPace(_ standby: BlueZStandby, _ now: Instant) {
      paceEnd = now.advanced(by: BlueZStandby.window)
      paceAt = now.advanced(by: standby.interval)
    }

    mutating func paceIsDue(_ step: inout Step) {
      if let end = paceEnd, end <= step.now { paceEnd = nil }
    }
  }

  // Requests to a connected peripheral.
  extension BlueZRadio {
    /// A request that has not received a response.
    struct Pending: Sendable, Hashable {
      let attempt: AttemptID
      let peer: PeripheralID
      let request: Request
      /// The time at which the request fails.
      let limit: Instant
      /// The time of the next attempt, if it is before the limit.
      var againAt: Instant?
      var tries = 0
      /// Whether a subscription from before this connection is being ended first.
      var isStopping = false

      var due: Instant { min(limit, againAt ?? limit) }
    }

    /// The maximum number of checks while services are resolved but incomplete, and the interval
    /// between them.
    static let rechecks = 3
    static let recheckPause = Duration.milliseconds(250)
    /// The maximum number of retries while another request is running, and the interval between
    /// them. BlueZ does not report the end of that request.
    static let busyTries = 100
    static let busyPause = Duration.milliseconds(50)

    mutating func ask(
      _ id: RequestID, _ attempt: AttemptID, _ request: Request, _ step: inout Step
    ) {
      guard let (peer, _) = peers.first(where: { $0.value.holds(attempt) }),
        peers[peer]?.phase == .open
      else {
        step.effects.append(.answer(id, .failure(.reset)))
        return
      }
      let isDiscovery = if case .discover = request { true } else { false }
      let limit = step.now.advanced(by: isDiscovery ? Self.discoveryLimit : Self.requestLimit)
      requests[id] = Pending(attempt: attempt, peer: peer, request: request, limit: limit)
      if isDiscovery { verify(id, &step) } else { send(id, &step) }
    }

    /// Ends the requests that match a predicate with a failure.
    mutating func fail(
      _ failure: LinkFailure, _ step: inout Step, _ isMeant: (Pending) -> Bool
    ) {
      for (id, pending) in requests.sorted(by: { $0.key < $1.key }) where isMeant(pending) {
        end(id, .failure(failure), &step)
      }
    }

    private mutating func end(
      _ id: RequestID, _ result: Result<[UInt8], LinkFailure>, _ step: inout Step
    ) {
      guard requests.removeValue(forKey: id) != nil else { return }
      step.effects.append(.answer(id, result))
    }

    // MARK: Services

    /// Handles the removal of a characteristic's object.
    ///
    /// BlueZ removes the objects when a peripheral changes its services, and also before it reports
    /// the end of a connection. Only the next added characteristic shows which of them occurred.
    private mutating func partRemoved(_ path: String) {
      for (id, peer) in peers where peer.phase == .open && peer.subscribed.contains(path) {
        peers[id]?.subscribed.remove(path)
        peers[id]?.hasLostParts = true
      }
    }

    /// Reports that a peripheral changed its services, once for the objects that BlueZ replaces.
    private mutating func reportChange(below path: String, _ step: inout Step) {
      for (id, peer) in peers where peer.phase == .open && peer.hasLostParts {
        guard let device = device(id), path.hasPrefix(device + "/") else { continue }
        peers[id]?.hasLostParts = false
        for ticket in peer.tickets { step.effects.append(.report(.changed(ticket.attempt))) }
      }
    }

    /// Verifies the discoveries that wait for the services at a path, which belongs to a device or
    /// one of its objects.
    mutating func verifyAll(below path: String, _ step: inout Step) {
      for (id, pending) in requests.sorted(by: { $0.key < $1.key }) {
        guard case .discover = pending.request, let device = device(pending.peer),
          path == device || path.hasPrefix(device + "/"), pending.againAt != nil || path == device
        else { continue }
        verify(id, &step)
      }
    }

    /// Completes a discovery if all of its objects exist.
    ///
    /// BlueZ can report services as resolved before it has exported their objects (bluez 1489).
    private mutating func verify(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], case .discover(let service, let parts) = pending.request,
        let device = device(pending.peer),
        objects[device, BlueZName.device, "ServicesResolved"]?.boolean == true
      else { return }
      let isWhole =
        objects.service(service, of: device) != nil
        && parts.allSatisfy { objects.characteristic($0, of: device) != nil }
      if isWhole { return end(id, .success([]), &step) }
      requests[id]?.againAt = step.now.advanced(by: Self.recheckPause)
    }

    /// Handles a new list of objects from BlueZ.
    mutating func rechecked(_ id: RequestID, _ values: [BusData], _ step: inout Step) {
      for (path, interfaces) in values.first?.objects ?? [:] { objects.add(path, interfaces) }
      guard let pending = requests[id] else { return }
      verify(id, &step)
      guard requests[id] != nil, pending.tries >= Self.rechecks else { return }
      peers[pending.peer]?.isSuspect = true
      end(
        id, .failure(.protocolError(detail: "the bottle lacks a service or characteristic")), &step)
    }

    // MARK: Values

    private mutating func send(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], let device = device(pending.peer) else {
        return end(id, .failure(.reset), &step)
      }
      let (characteristic, name, arguments): (GATTID, String, [BusData])
      switch pending.request {
      case .discover: return
      case .notify(let characteristicID):
        let verb = pending.isStopping ? "StopNotify" : "StartNotify"
        (characteristic, name, arguments) = (characteristicID, verb, [])
      case .read(let characteristicID):
        (characteristic, name) = (characteristicID, "ReadValue")
        arguments = [.properties([:])]
      case .write(let characteristicID, let bytes):
        (characteristic, name) = (characteristicID, "WriteValue")
        arguments = [.bytes(bytes), .properties(["type": .text("request")])]
      }
      guard let path = objects.characteristic(characteristic, of: device) else {
        return end(
          id, .failure(.protocolError(detail: "the bottle lacks a characteristic")), &step)
      }
      requests[id]?.againAt = nil
      if name == "StartNotify" { peers[pending.peer]?.subscribed.insert(path) }
      call(BusMember(path, BlueZName.characteristic, name, arguments), for: .request(id), &step)
    }

    mutating func requestEnded(_ id: RequestID, _ values: [BusData], _ step: inout Step) {
      guard let pending = requests[id] else { return }
      if pending.isStopping {
        requests[id]?.isStopping = false
        return send(id, &step)
      }
      end(id, .success(values.first?.bytes ?? []), &step)
    }

    mutating func requestRefused(_ id: RequestID, _ refusal: BusRefusal, _ step: inout Step) {
      guard var pending = requests[id] else { return }
      pending.tries += 1
      let isNotify = if case .notify = pending.request { true } else { false }
      switch refusal.name {
      case _ where pending.isStopping:
        pending.isStopping = false
        requests[id] = pending
        send(id, &step)
      // BlueZ has renewed a subscription from before this connection by itself.
      case "org.bluez.Error.InProgress" where isNotify && pending.tries == 1:
        pending.isStopping = true
        requests[id] = pending
        send(id, &step)
      case "org.bluez.Error.InProgress" where pending.tries < Self.busyTries:
        pending.againAt = step.now.advanced(by: Self.busyPause)
        requests[id] = pending
      case "org.bluez.Error.NotConnected": end(id, .failure(.reset), &step)
      case _: end(id, .failure(.protocolError(detail: refusal.description)), &step)
      }
    }

    mutating func requestIsDue(_ id: RequestID, _ step: inout Step) {
      guard let pending = requests[id], pending.due <= step.now else { return }
      guard pending.limit > step.now else { return late(pending, &step) }
      guard case .discover = pending.request else { return send(id, &step) }
      requests[id]?.againAt = nil
      requests[id]?.tries += 1
      call(BusMember("/", BlueZName.manager, "GetManagedObjects"), for: .recheck(id), &step)
    }

    /// Ends the connection of a peripheral that did not respond, as GATT requires.
    private mutating func late(_ pending: Pending, _ step: inout Step) {
      let isDiscovery = if case .discover = pending.request { true } else { false }
      let failure = LinkFailure.timeout(isDiscovery ? .establish : .response)
      let tickets = peers[pending.peer]?.tickets ?? []
      fail(failure, &step) { $0.peer == pending.peer }
      peers[pending.peer]?.tickets = []
      leave(pending.peer, &step)
      for ticket in tickets {
        step.effects.append(.report(.disconnected(ticket.attempt, failure)))
      }
    }

    mutating func valueChanged(_ path: String, _ value: [UInt8], _ step: inout Step) {
      let found = peers.values.first { $0.phase == .open && $0.subscribed.contains(path) }
      guard let attempt = found?.tickets.first?.attempt,
        let id = objects[path, BlueZName.characteristic, "UUID"]?.text.flatMap({ GATTID($0) })
      else { return }
      step.effects.append(.report(.value(attempt, id, value)))
    }

    /// Returns the maximum size of a notification's value: the MTU minus the header. BlueZ reports
    /// the MTU since version 5.62.
    func longestValue(of attempt: AttemptID) -> Int {
      guard let (id, _) = peers.first(where: { $0.value.holds(attempt) }), let device = device(id)
      else { return 20 }
      let sizes = objects.all.compactMap { path, interfaces in
        path.hasPrefix(device + "/") ? interfaces[BlueZName.characteristic]?["MTU"]?.word : nil
      }
      return max(Int(sizes.max() ?? 23) - 3, 20)
    }
  }
#endif
