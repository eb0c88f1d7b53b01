#if os(Linux)
  import LinkCore
  import LinkWire
  import LinuxBus

  // Discovery, and the standby.
  extension BlueZRadio {
    /// The most starts of one discovery; something else has it then.
    static let startLimit = 4

    mutating func scan(_ services: [GATTID], _ step: inout Step) {
      scan = services
      if case .on = discovery { setFilter(&step) }
      // What another program discovers, or what is connected and advertises no more, is told no
      // second time.
      for path in objects.all.keys.sorted() {
        guard let device = objects[path, BlueZName.device],
          device["RSSI"] != nil || device["Connected"]?.boolean == true
        else { continue }
        tellIfScanned(path, &step)
      }
    }

    /// Tells of a device that the app scans for; BlueZ merges the filters of all programs.
    mutating func tellIfScanned(_ path: String, _ step: inout Step) {
      guard isOn, let scan, let id = id(ofDevice: path),
        !objects.services(of: path).isDisjoint(with: scan)
      else { return }
      let name = objects[path, BlueZName.device, "Name"]?.text
      step.effects.append(.tell(.found(id, name: name)))
    }

    /// Whether BlueZ shall discover: not while it connects, since many controllers cannot do both.
    private var wantsDiscovery: Bool {
      guard isOn, !peers.values.contains(where: \.phase.isConnecting) else { return false }
      let isHunting = peers.contains { id, peer in
        peer.phase == .idle && peer.tickets.contains { !$0.isQueued } && device(id) == nil
      }
      return scan != nil || isHunting || paceEnd != nil
    }

    mutating func settleDiscovery(_ step: inout Step) {
      switch (discovery, wantsDiscovery) {
      case (.off, true): startDiscovery(tries: 1, &step)
      case (.on, false), (.starting, false): stopDiscovery(&step)
      case (.resting, false): discovery = .off
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

    /// A discovery of an earlier run that is still open is ended first.
    mutating func discoveryRefused(_ call: CallID, _ refusal: BusRefusal, _ step: inout Step) {
      guard case .starting(call, let tries) = discovery else { return }
      guard refusal.name == "org.bluez.Error.InProgress", tries < Self.startLimit else {
        discovery = .resting(step.now.advanced(by: Self.scanPause))
        return
      }
      stopDiscovery(&step)
      startDiscovery(tries: tries + 1, &step)
    }

    // MARK: standby

    /// What decides which standby serves a peripheral.
    func facts(of id: PeripheralID) -> StandbyFacts {
      let properties = device(id).flatMap { objects[$0, BlueZName.device] } ?? [:]
      let isRandom = properties["AddressType"]?.text == "random"
      let isPaired = properties["Paired"]?.boolean == true
      return StandbyFacts(
        hasProfile: hasProfile, isKept: isPaired || properties["Trusted"]?.boolean == true,
        addressChanges: isRandom && !isPaired && BlueZAddress(id)?.changesIfRandom == true,
        hasMonitor: monitor == .on)
    }

    /// The standby that serves a peripheral which waits; `nil` if it does not wait.
    private func kind(for id: PeripheralID) -> BlueZStandby? {
      guard let peer = peers[id], peer.phase.waits,
        peer.tickets.contains(where: { $0.isQueued && $0.restsUntil == nil })
      else { return nil }
      return .best(facts(of: id))
    }

    mutating func settleStandby(_ step: inout Step) {
      let all = isOn ? peers.keys.compactMap { kind(for: $0) } : []
      // The one that asks most of this program, if peripherals differ.
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
      guard standby == .pacedScan, monitor == .unasked, !services.isEmpty, let adapter else {
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
#endif
