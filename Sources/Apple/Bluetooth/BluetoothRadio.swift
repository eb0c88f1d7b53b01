#if canImport(CoreBluetooth)
  import CoreBluetooth
  import Dispatch
  import Foundation
  import HoldfastCore
  import HoldfastPorts
  import HoldfastBottleData

  /// The delegate of Core Bluetooth, with the tickets and requests of a central.
  ///
  /// Callbacks may arrive late, twice or never, and do not name an attempt. The state that the
  /// system reports for the peripheral decides whether a callback is out of date. A reset of the
  /// radio makes all peripherals invalid; the system then returns others for their identifiers.
  ///
  /// The type is `@unchecked Sendable` because Core Bluetooth's classes are not sendable. All of its
  /// state is confined to `queue`, on which Core Bluetooth also calls the delegate, and each entry
  /// checks that.
  final class BluetoothRadio: NSObject, @unchecked Sendable {
    /// A ticket of an attempt.
    struct Ticket: Sendable {
      let attempt: AttemptID
      let isQueued: Bool
      /// The time before which this ticket does not connect; `nil` for no delay.
      let restsUntil: Instant?
    }

    /// The kind of connect that the tickets of a peripheral require.
    struct Demand: Equatable {
      var isQueued = true
      var restsUntil: Instant?
    }

    /// The state of a connection from this app's point of view.
    enum Phase { case idle, connecting, open, closing }

    /// A peripheral that the app holds. The system drops a peripheral that nobody holds.
    final class Peer {
      let peripheral: CBPeripheral
      var phase = Phase.idle
      /// The demand of the connect that is pending with the system.
      var asked: Demand?
      /// The tickets, oldest first.
      var tickets: [Ticket] = []
      /// Whether the system kept the peripheral and no ticket has asked for it yet. It is not
      /// released for the lack of tickets, because the app has not had the time to ask.
      var isRestored = false
      /// Whether a loss was noticed by the peripheral's state, so that its callback is still to come.
      var awaitsLoss = false
      /// The services that were discovered during this connection.
      var services: [CBService] = []
      /// Whether all services and characteristics were discovered during this connection.
      var isComplete = false
      /// The requests, oldest first. Only the first one is in progress.
      var requests: [Request] = []

      init(_ peripheral: CBPeripheral) { self.peripheral = peripheral }
    }

    let queue = DispatchQueue(label: "holdfast.bluetooth")
    private let alerts: CoreBluetoothCentral.Alerts
    private let clock: any LinkClock
    private var manager: CBCentralManager?
    private var deliver: (@Sendable (CentralEvent) -> Void)?
    /// The events before the listener.
    private var early: [CentralEvent] = []
    private var state: AdapterState?
    private var peers: [PeripheralID: Peer] = [:]
    private var scanned: [GATTID]?
    /// Whether the central was closed. The next call of `begin` opens it again.
    private var isClosed = false
    /// Whether the system accepts connects with automatic reconnection.
    private var acceptsReconnection = true

    init(restoration: String?, alerts: CoreBluetoothCentral.Alerts, clock: any LinkClock) {
      (self.alerts, self.clock) = (alerts, clock)
      super.init()
      let options = restoration.map { [CBCentralManagerOptionRestoreIdentifierKey: $0 as Any] }
      // Callbacks begin as soon as the manager exists. They wait until it is stored.
      queue.sync { manager = CBCentralManager(delegate: self, queue: queue, options: options) }
    }

    /// Runs work on the queue, after all earlier work.
    func run(_ work: @escaping @Sendable (BluetoothRadio) -> Void) {
      queue.async { [self] in work(self) }
    }

    var isOn: Bool { manager?.state == .poweredOn }

    func tell(_ event: CentralEvent) {
      guard !isClosed else { return }
      if let deliver { deliver(event) } else { early.append(event) }
    }

    /// Returns the peer of a callback; `nil` if the radio was reset since.
    func peer(_ peripheral: CBPeripheral) -> Peer? {
      guard let peer = peers[PeripheralID(peripheral)], peer.peripheral === peripheral else {
        return nil
      }
      return peer
    }

    /// Returns the connected peripheral of a ticket.
    func openPeer(of attempt: AttemptID) -> Peer? {
      peers.values.first { $0.phase == .open && $0.holds(attempt) }
    }
  }

  // The calls of the central.
  extension BluetoothRadio {
    /// Begins to deliver events. After a close, the first one is the state of the radio.
    func begin(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
      if isClosed, let state { early = [.adapter(state)] }
      (self.deliver, isClosed) = (deliver, false)
      for event in early { deliver(event) }
      early = []
    }

    /// Scans for services, or stops the scan if `services` is `nil`.
    func scan(_ services: [GATTID]?) {
      guard !isClosed else { return }
      scanned = services
      // Peripherals that an earlier scan found are no longer needed.
      peers = peers.filter { $0.value.isInUse }
      if isOn { scanAsWanted() }
    }

    /// Passes the scan to the system, which may have kept another one for the app.
    private func scanAsWanted() {
      if let scanned {
        manager?.scanForPeripherals(withServices: scanned.map(\.bluetooth), options: nil)
      } else if manager?.isScanning == true {
        manager?.stopScan()
      }
    }

    func connect(
      _ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration
    ) {
      guard !isClosed, !peers.values.contains(where: { $0.holds(attempt) }) else { return }
      guard isOn else {
        // Without the radio, tickets are invalid. Only a reported state tells the app so.
        if state == .on { tell(.failed(attempt, .unreachable(detail: "the radio is off"))) }
        return
      }
      guard let peer = peer(for: id) else {
        tell(.failed(attempt, .unreachable(detail: "the peripheral is unknown here")))
        return
      }
      let ticket = Ticket(
        attempt: attempt, isQueued: isQueued,
        restsUntil: rest > .zero ? clock.now.advanced(by: rest) : nil)
      // The callback of a loss may be late. The new ticket does not belong to that connection.
      if peer.phase == .open, !peer.isConnected {
        lost(peer, .reset)
        peer.awaitsLoss = true
      }
      peer.tickets.append(ticket)
      peer.isRestored = false
      if peer.phase == .open { tell(.connected(attempt)) } else { connect(peer) }
    }

    func cancel(_ attempt: AttemptID) {
      guard let peer = peers.values.first(where: { $0.holds(attempt) }) else { return }
      peer.tickets.removeAll { $0.attempt == attempt }
      endRequests(of: attempt, at: peer)
      if peer.tickets.isEmpty { release(peer) } else if peer.phase == .connecting { connect(peer) }
    }

    func longestValue(of attempt: AttemptID) -> Int {
      let peripheral = openPeer(of: attempt)?.peripheral
      return max(peripheral?.maximumWriteValueLength(for: .withoutResponse) ?? 0, 20)
    }

    func close() {
      scan(nil)
      isClosed = true
      (deliver, early) = (nil, [])
      for peer in peers.values {
        peer.tickets = []
        endRequests(at: peer, .local(detail: "the central was closed"))
        release(peer)
      }
    }

    /// Returns the peer with an identifier; `nil` if the system does not know it.
    ///
    /// A scan may have reported a peripheral that a reset has made invalid since. The system returns
    /// the valid one.
    private func peer(for id: PeripheralID) -> Peer? {
      if let known = peers[id], known.isInUse { return known }
      let valid = manager?.retrievePeripherals(withIdentifiers: [id.bluetooth]).first
      return valid.map { take($0) } ?? peers[id]
    }

    private func take(_ peripheral: CBPeripheral) -> Peer {
      if let known = peer(peripheral) { return known }
      forget(PeripheralID(peripheral))
      peripheral.delegate = self
      let peer = Peer(peripheral)
      peers[PeripheralID(peripheral)] = peer
      return peer
    }
  }

  // The calls of the system.
  extension BluetoothRadio {
    /// Asks the system for the connection that the tickets require, unless the previous one is still
    /// ending.
    private func connect(_ peer: Peer) {
      guard isOn, let demand = peer.demand(at: clock.now) else { return }
      let state = peer.peripheral.state
      switch peer.phase {
      case .open: return
      case .closing where state == .disconnected: ended(peer)  // The callback is late or lost.
      case .closing: return
      // The callback is late or lost, and the system repeats it after another connect.
      case .connecting where state == .connected: break
      case .connecting where peer.asked == demand && state != .disconnected: return
      case .connecting:
        // The system does not say whether a second connect changes the first one's options.
        peer.phase = .idle
        manager?.cancelPeripheralConnection(peer.peripheral)
      case .idle: break
      }
      if peer.peripheral.state == .disconnecting {
        peer.phase = .closing
      } else {
        connect(peer, demand)
      }
    }

    private func connect(_ peer: Peer, _ demand: Demand) {
      (peer.phase, peer.asked) = (.connecting, demand)
      manager?.connect(peer.peripheral, options: options(demand))
    }

    private func options(_ demand: Demand) -> [String: Any] {
      var options: [String: Any] = [:]
      let rest = demand.restsUntil.map { clock.now.duration(to: $0) } ?? .zero
      if rest > .zero {
        // Apple does not document a delay together with automatic reconnection. The delay matters
        // more, since the app asks again after a loss anyway.
        let seconds = rest.components.seconds + (rest.components.attoseconds > 0 ? 1 : 0)
        options[CBConnectPeripheralOptionStartDelayKey] = Int(seconds)
      } else if demand.isQueued, acceptsReconnection {
        options[CBConnectPeripheralOptionEnableAutoReconnect] = true
      }
      if alerts.contains(.connection) {
        options[CBConnectPeripheralOptionNotifyOnConnectionKey] = true
      }
      if alerts.contains(.disconnection) {
        options[CBConnectPeripheralOptionNotifyOnDisconnectionKey] = true
      }
      if alerts.contains(.notification) {
        options[CBConnectPeripheralOptionNotifyOnNotificationKey] = true
      }
      return options
    }

    /// Ends a connection or a connect that has no tickets.
    private func release(_ peer: Peer) {
      peer.isRestored = false
      guard isOn else { return }
      switch peer.phase {
      case .idle, .closing: return
      case .connecting: peer.phase = .idle
      case .open: peer.phase = .closing
      }
      manager?.cancelPeripheralConnection(peer.peripheral)
    }

    /// Discards what belongs to a connection that is over.
    private func ended(_ peer: Peer, _ failure: LinkFailure = .reset) {
      endRequests(at: peer, failure)
      (peer.phase, peer.asked, peer.services, peer.isComplete) = (.idle, nil, [], false)
    }

    /// Ends a connection that was lost, with its tickets. The system may already reconnect, or have
    /// reconnected. It is then asked for its callback, which ends a connection that nobody wants.
    func lost(_ peer: Peer, _ failure: LinkFailure) {
      ended(peer, failure)
      for ticket in peer.takeTickets() { tell(.disconnected(ticket.attempt, failure)) }
      switch peer.peripheral.state {
      case .connecting: (peer.phase, peer.asked) = (.connecting, Demand())
      case .connected: connect(peer, Demand())
      case .disconnected, .disconnecting: return
      @unknown default: return
      }
    }

    /// Forgets a peripheral, which the system has made invalid.
    private func forget(_ id: PeripheralID) {
      guard let peer = peers.removeValue(forKey: id) else { return }
      endRequests(at: peer, .unreachable(detail: "the radio is off"))
      peer.peripheral.delegate = nil
    }

    /// Ends what a reset of the radio ended without a report. Connections that are still there
    /// remain.
    private func endWhatIsGone() {
      for (id, peer) in peers where peer.isInUse && peer.peripheral.state == .disconnected {
        let wasOpen = peer.phase == .open
        forget(id)
        for ticket in peer.takeTickets() {
          tell(
            wasOpen ? .disconnected(ticket.attempt, .reset) : .failed(ticket.attempt, .reset))
        }
      }
      scanAsWanted()
    }
  }

  extension BluetoothRadio: CBCentralManagerDelegate {
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
      dispatchPrecondition(condition: .onQueue(queue))
      let kept = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
      for peripheral in kept { take(peripheral).isRestored = !isClosed }
      tell(
        .restored(
          kept.map { RestoredPeripheral(PeripheralID($0), isConnected: $0.state == .connected) }))
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      dispatchPrecondition(condition: .onQueue(queue))
      let new = AdapterState(central.state)
      guard new != state else {
        if new == .on { endWhatIsGone() }
        return
      }
      let isFirst = state == nil
      state = new
      // An unknown state before any other one does not concern the peripherals that were kept.
      if new != .on, new != .unknown || !isFirst { for id in peers.keys { forget(id) } }
      if new == .on { turnedOn() }
      tell(.adapter(new))
    }

    /// Connects the peripherals that the system kept, and scans if a scan is wanted.
    ///
    /// A kept connection belongs to the app only after a connect by this process, and a kept connect
    /// may never open. Both end if the central was closed before the radio was on.
    private func turnedOn() {
      scanAsWanted()
      for peer in peers.values {
        let isConnected = peer.isConnected
        if peer.isRestored {
          connect(peer, Demand())
          if isConnected { peer.phase = .open }
        } else if peer.peripheral.state != .disconnected {
          manager?.cancelPeripheralConnection(peer.peripheral)
        }
      }
    }

    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
      advertisementData: [String: Any], rssi RSSI: NSNumber
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard scanned != nil, isOn else { return }
      // The system may report a peripheral of the time before a reset. It must not replace the one
      // that is in use.
      if peers[PeripheralID(peripheral)]?.isInUse != true { _ = take(peripheral) }
      let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name
      tell(.found(PeripheralID(peripheral), name: name))
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let peer = peer(peripheral), peripheral.state == .connected else { return }
      switch peer.phase {
      case .open where peer.hasOldServices: return lost(peer, .reset)
      case .open, .closing: return  // a second callback
      case .idle, .connecting: peer.phase = .open
      }
      if peer.tickets.isEmpty, !peer.isRestored { release(peer) }
      for ticket in peer.tickets { tell(.connected(ticket.attempt)) }
    }

    func centralManager(
      _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let peer = peer(peripheral), peer.phase == .connecting,
        peripheral.state == .disconnected
      else { return }
      peer.phase = .idle
      if (error as? CBError)?.code == .invalidParameters, acceptsReconnection {
        // Some peripherals and systems refuse automatic reconnection.
        acceptsReconnection = false
        connect(peer)
      } else {
        for ticket in peer.takeTickets() { tell(.failed(ticket.attempt, LinkFailure(error))) }
      }
    }

    // The older callback without `isReconnecting` must not be implemented beside this one. The
    // system would call only the older one.
    func centralManager(
      _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
      timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let peer = peer(peripheral) else { return }
      let isKnown = peer.awaitsLoss
      peer.awaitsLoss = false
      guard peripheral.state != .connected else {
        // The system has already reconnected, and this is another connection.
        if isReconnecting, peer.phase == .open, !isKnown { lost(peer, LinkFailure(error)) }
        return
      }
      let failure = LinkFailure(error)
      switch peer.phase {
      case .idle: return
      case .connecting:
        // Otherwise the callback belongs to an earlier connect, which was cancelled.
        guard peripheral.state == .disconnected else { return }
        peer.phase = .idle
        for ticket in peer.takeTickets() { tell(.failed(ticket.attempt, failure)) }
      case .closing:
        ended(peer)
        connect(peer)
      case .open: lost(peer, failure)
      }
    }
  }

  extension BluetoothRadio.Peer {
    /// Whether something would be lost without this peer.
    var isInUse: Bool { phase != .idle || !tickets.isEmpty || isRestored }

    var isConnected: Bool { peripheral.state == .connected }

    func holds(_ attempt: AttemptID) -> Bool { tickets.contains { $0.attempt == attempt } }

    /// Whether services were discovered that the system no longer has. A connection that was lost
    /// and opened again has others.
    var hasOldServices: Bool {
      let valid = peripheral.services ?? []
      return !services.allSatisfy { used in valid.contains { $0 === used } }
    }

    /// Returns the kind of connect that the tickets require; `nil` if there are none.
    func demand(at now: Instant) -> BluetoothRadio.Demand? {
      guard !tickets.isEmpty else { return nil }
      let rests = tickets.compactMap(\.restsUntil).filter { $0 > now }
      return BluetoothRadio.Demand(
        isQueued: tickets.contains(where: \.isQueued),
        restsUntil: rests.count == tickets.count ? rests.min() : nil)
    }

    func takeTickets() -> [BluetoothRadio.Ticket] {
      defer { tickets = [] }
      return tickets
    }
  }
#endif
