#if os(Linux)
  import HoldfastCore
  import HoldfastFeaturePorts
  import HoldfastLinuxDevice

  /// The rules of a peripheral that uses BlueZ. They turn commands and bus messages into calls and
  /// events.
  ///
  /// The application contains the services that a central reads. It is registered while the daemon
  /// runs. The advertisement is registered while advertising is requested, the adapter is on and no
  /// central is connected.
  struct BlueZServer: Sendable {
    enum Input: Sendable, Equatable {
      case bus(BlueZMessage)
      case advertise(Bool)
      case disconnect
      case notify(GATTID, [UInt8])
      case reply(UInt16, [UInt8]?)
      case close
    }

    enum Effect: Sendable, Equatable {
      case call(CallID, BusMember)
      case answer(UInt64, Result<[BusData], BusRefusal>)
      case emit(BusMember)
      case report(PeripheralEvent)
    }

    typealias CallID = BlueZMessage.CallID

    /// The state of an object's registration with BlueZ.
    enum Registration: Sendable, Hashable {
      case none
      case asked(CallID)
      case done
      /// BlueZ refused the registration. It is retried at this time.
      case resting(Instant)
    }

    /// The pause after a refused registration.
    static let pause = Duration.seconds(2)
    /// The maximum size of a notification's value in bytes, until the MTU is known.
    static let shortest = 20

    let adapterName: String?
    let exports: BlueZServerExports
    var objects = BlueZObjects()
    /// The pending call that requests all objects.
    private var loading: CallID?
    private var isReady = false
    private var application = Registration.none
    private var advertisement = Registration.none
    private var wantsAdvertising = false
    private var isClosed = false
    /// The path of the connected device.
    private(set) var phone: String?
    private var longestValue = Self.shortest
    private var subscribed: Set<GATTID> = []
    /// The calls that wait for a reply from the peripheral, each with the start offset if it is a
    /// read.
    private var requests: [UInt16: (call: UInt64, offset: Int)] = [:]
    private var lastRequest: UInt16 = 0
    private var lastCall: CallID = 0

    init(adapter: String?, exports: BlueZServerExports) {
      (adapterName, self.exports) = (adapter, exports)
    }

    /// The next time at which the machine must be called; `nil` while only an input can change it.
    var deadline: Instant? {
      [application, advertisement].compactMap {
        if case .resting(let due) = $0 { due } else { nil }
      }.min()
    }

    mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
      var effects: [Effect] = []
      switch input {
      case .bus(let message): take(message, now, &effects)
      case .advertise(let isOn): wantsAdvertising = isOn
      case .disconnect: disconnect(&effects)
      case .notify(let id, let bytes): notify(id, bytes, &effects)
      case .reply(let number, let bytes): reply(number, bytes, &effects)
      case .close: close(&effects)
      }
      updateRegistrations(&effects)
      return effects
    }

    mutating func tick(at now: Instant) -> [Effect] {
      var effects: [Effect] = []
      if case .resting(let due) = application, due <= now { application = .none }
      if case .resting(let due) = advertisement, due <= now { advertisement = .none }
      updateRegistrations(&effects)
      return effects
    }

    // MARK: The bus

    private mutating func take(_ message: BlueZMessage, _ now: Instant, _ effects: inout [Effect]) {
      switch message {
      case .daemon(let isThere): daemonChanged(isThere, &effects)
      case .added(let path, let interfaces):
        objects.add(path, interfaces)
        deviceChanged(path, &effects)
      case .removed(let path, let interfaces):
        objects.remove(path, interfaces)
        deviceChanged(path, &effects)
      case .changed(let path, let interface, let values, let without):
        objects.change(path, interface, values, without: without)
        deviceChanged(path, &effects)
      case .answered(loading, let values): loaded(values, &effects)
      case .answered(let call, _): registered(call, .done)
      case .refused(let call, let refusal):
        registered(call, refusal.isThere ? .done : .resting(now.advanced(by: Self.pause)))
      case .called(let call, let number): called(call, number, &effects)
      }
    }

    private mutating func daemonChanged(_ isThere: Bool, _ effects: inout [Effect]) {
      (objects, isReady, loading) = (BlueZObjects(), false, nil)
      (application, advertisement) = (.none, .none)
      left(&effects)
      guard isThere else { return }
      loading = call(BusMember("/", BlueZName.manager, "GetManagedObjects"), &effects)
    }

    private mutating func loaded(_ values: [BusData], _ effects: inout [Effect]) {
      (loading, isReady) = (nil, true)
      objects = BlueZObjects(values.first?.objects ?? [:])
      for path in objects.all.keys.sorted() { deviceChanged(path, &effects) }
    }

    private mutating func registered(_ call: CallID, _ state: Registration) {
      if application == .asked(call) { application = state }
      if advertisement == .asked(call) { advertisement = state }
    }

    private var adapter: String? { objects.adapter(adapterName) }

    /// Updates the registrations. It is called after every step.
    private mutating func updateRegistrations(_ effects: inout [Effect]) {
      guard isReady, !isClosed, let adapter else { return }
      let isOn = objects[adapter, BlueZName.adapter, "Powered"]?.boolean == true
      if application == .none {
        application = .asked(
          call(
            BusMember(
              adapter, BlueZName.gattManager, "RegisterApplication",
              [.path(BlueZServerExports.root), .properties([:])]), &effects))
      }
      // BlueZ drops the advertisement when the adapter is switched off.
      if !isOn { advertisement = .none }
      let wants = wantsAdvertising && isOn && application == .done && phone == nil
      switch (advertisement, wants) {
      case (.none, true): advertisement = .asked(advertise("Register", adapter, &effects))
      case (.done, false):
        advertise("Unregister", adapter, &effects)
        advertisement = .none
      case (.resting, false): advertisement = .none
      case (.none, false), (.done, true), (.resting, true), (.asked, _): return
      }
    }

    @discardableResult
    private mutating func advertise(
      _ verb: String, _ adapter: String, _ effects: inout [Effect]
    ) -> CallID {
      let options: [BusData] = verb == "Register" ? [.properties([:])] : []
      return call(
        BusMember(
          adapter, BlueZName.advertisingManager, verb + "Advertisement",
          [.path(BlueZServerExports.advertisement)] + options), &effects)
    }

    @discardableResult
    private mutating func call(_ member: BusMember, _ effects: inout [Effect]) -> CallID {
      lastCall += 1
      effects.append(.call(lastCall, member))
      return lastCall
    }

    // MARK: The connection

    private mutating func deviceChanged(_ path: String, _ effects: inout [Effect]) {
      guard isReady, let adapter, path.hasPrefix(adapter + "/dev_") else { return }
      let isConnected = objects[path, BlueZName.device, "Connected"]?.boolean == true
      switch (isConnected, phone) {
      case (true, nil) where !isClosed:
        phone = path
        effects.append(.report(.connected(longestValue: Self.shortest)))
      case (false, path): left(&effects)
      case (true, _), (false, _): return
      }
    }

    private mutating func left(_ effects: inout [Effect]) {
      for (_, request) in requests.sorted(by: { $0.key < $1.key }) {
        effects.append(.answer(request.call, .failure(Self.refusal)))
      }
      (requests, subscribed, longestValue) = ([:], [], Self.shortest)
      guard phone != nil else { return }
      phone = nil
      effects.append(.report(.disconnected))
    }

    private mutating func disconnect(_ effects: inout [Effect]) {
      guard let phone else { return }
      call(BusMember(phone, BlueZName.device, "Disconnect"), &effects)
    }

    private mutating func close(_ effects: inout [Effect]) {
      guard !isClosed else { return }
      isClosed = true
      disconnect(&effects)
      guard isReady, let adapter else { return }
      if advertisement != .none { advertise("Unregister", adapter, &effects) }
      call(
        BusMember(
          adapter, BlueZName.gattManager, "UnregisterApplication",
          [.path(BlueZServerExports.root)]), &effects)
    }

    // MARK: Requests of the central

    private static let refusal = BusRefusal("org.bluez.Error.Failed", "the peripheral refuses")

    private mutating func called(
      _ call: BusMember, _ number: UInt64, _ effects: inout [Effect]
    ) {
      if let values = exports.objects.answer(call) {
        return effects.append(.answer(number, .success(values)))
      }
      switch (call.interface, call.name, exports.characteristic(at: call.path)) {
      case (BlueZName.characteristic, "ReadValue", let id?):
        agree(call.arguments.last?.properties, &effects)
        let request = request(number, call.arguments.last?.properties)
        effects.append(.report(.read(request, id)))
      case (BlueZName.characteristic, "WriteValue", let id?):
        agree(call.arguments.last?.properties, &effects)
        let bytes = call.arguments.first?.bytes ?? []
        effects.append(.report(.write(request(number, nil), id, bytes)))
      case (BlueZName.characteristic, "StartNotify", let id?):
        subscribed.insert(id)
        effects.append(.answer(number, .success([])))
      case (BlueZName.characteristic, "StopNotify", let id?):
        subscribed.remove(id)
        effects.append(.answer(number, .success([])))
      case (BlueZName.advertisement, "Release", _):
        advertisement = .none
        effects.append(.answer(number, .success([])))
      case _: effects.append(.answer(number, .failure(.unknownMethod)))
      }
    }

    /// Uses the MTU that BlueZ sends with each request.
    private mutating func agree(_ options: [String: BusData]?, _ effects: inout [Effect]) {
      guard let mtu = options?["mtu"]?.word else { return }
      let longest = max(Int(mtu) - 3, Self.shortest)
      guard longest != longestValue else { return }
      longestValue = longest
      effects.append(.report(.negotiated(longestValue: longest)))
    }

    private mutating func request(_ call: UInt64, _ options: [String: BusData]?) -> UInt16 {
      lastRequest &+= 1
      requests[lastRequest] = (call, Int(options?["offset"]?.word ?? 0))
      return lastRequest
    }

    private mutating func reply(
      _ number: UInt16, _ bytes: [UInt8]?, _ effects: inout [Effect]
    ) {
      guard let request = requests.removeValue(forKey: number) else { return }
      let result: Result<[BusData], BusRefusal> =
        if let bytes {
          .success([.bytes(Array(bytes.dropFirst(request.offset)))])
        } else {
          .failure(Self.refusal)
        }
      effects.append(.answer(request.call, result))
    }

    private func notify(_ id: GATTID, _ bytes: [UInt8], _ effects: inout [Effect]) {
      guard subscribed.contains(id), let path = exports.path(of: id) else { return }
      effects.append(
        .emit(
          BusMember(
            path, BlueZName.properties, "PropertiesChanged",
            [
              .text(BlueZName.characteristic), .properties(["Value": .bytes(bytes)]), .texts([]),
            ])))
    }
  }
#endif
