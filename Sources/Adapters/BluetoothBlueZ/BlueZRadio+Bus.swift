#if os(Linux)
  import LinkCore
  import LinkWire
  import LinuxBus

  // What the bus says: the daemon, its adapter and its objects.
  extension BlueZRadio {
    /// The object of the adapter that is used.
    var adapter: String? { objects.adapter(adapterName) }

    /// The path that a peripheral's object has, whether it is there or not.
    func path(of id: PeripheralID) -> String? {
      adapter.flatMap { adapter in BlueZAddress(id)?.path(below: adapter) }
    }

    /// The object of a peripheral that BlueZ knows.
    func device(_ id: PeripheralID) -> String? {
      path(of: id).flatMap { objects[$0, BlueZName.device] == nil ? nil : $0 }
    }

    func id(ofDevice path: String) -> PeripheralID? {
      adapter.flatMap { BlueZAddress(path: path, below: $0)?.id }
    }

    var isOn: Bool { told == .on }

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

    /// What the radio can do now.
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

    mutating func tellAdapter(_ step: inout Step) {
      guard let state, state != told else { return }
      if told == .on { drop(&step) }
      told = state
      if state == .on { begin(&step) }
      step.effects.append(.tell(.adapter(state)))
    }

    /// Offers BlueZ what it can wait for.
    private mutating func begin(_ step: inout Step) {
      guard let adapter, objects[adapter, BlueZName.gattManager] != nil, !services.isEmpty else {
        return
      }
      call(
        BusMember(
          adapter, BlueZName.gattManager, "RegisterApplication",
          [.path(BlueZExports.application), .properties([:])]), for: .register, &step)
    }

    /// Forgets what ended with the adapter: tickets, requests, and what BlueZ was asked.
    mutating func drop(_ step: inout Step) {
      for id in requests.keys.sorted() { step.effects.append(.answer(id, .failure(.reset))) }
      (requests, peers, calls) = ([:], [:], calls.filter { $0.value == .load })
      (discovery, paceAt, paceEnd, hasProfile, monitor) = (.off, nil, nil, false, .unasked)
    }

    mutating func added(
      _ path: String, _ interfaces: BlueZObjects.Interfaces, _ step: inout Step
    ) {
      guard daemon == .ready else { return }
      objects.add(path, interfaces)
      if let device = interfaces[BlueZName.device] {
        if device["RSSI"] != nil { heard(path, &step) }
        if device["Connected"]?.boolean == true { connectedChanged(path, true, &step) }
      }
      if interfaces[BlueZName.characteristic] != nil { verifyAll(below: path, &step) }
    }

    mutating func removed(_ path: String, _ interfaces: [String], _ step: inout Step) {
      objects.remove(path, interfaces)
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
        if values["RSSI"] != nil { heard(path, &step) }
        if let isConnected = values["Connected"]?.boolean {
          connectedChanged(path, isConnected, &step)
        }
        if values["ServicesResolved"]?.boolean == true { verifyAll(below: path, &step) }
      case BlueZName.characteristic:
        if let value = values["Value"]?.bytes { valueChanged(path, value, &step) }
      case _: return
      }
    }

    /// A device advertises.
    private mutating func heard(_ path: String, _ step: inout Step) {
      guard let id = id(ofDevice: path) else { return }
      tellIfScanned(path, &step)
      pursue(id, isSighted: true, &step)
    }

    mutating func sighted(_ path: String, _ step: inout Step) {
      if let id = id(ofDevice: path) { pursue(id, isSighted: true, &step) }
    }
  }
#endif
