import HoldfastPorts

#if os(Linux)
  import Dispatch
  import HoldfastCore
  package import HoldfastFeaturePorts
  import HoldfastLinuxDevice

  /// A peripheral that uses the Bluetooth radio of this machine through BlueZ on the system bus.
  ///
  /// The peripheral uses the D-Bus interfaces GattManager1 and LEAdvertisingManager1 of bluez 5.66.
  /// The actor only translates; ``BlueZServer`` contains the rules. The peripheral does not start a
  /// daemon that is not running, and does not switch on an adapter that is off. It advertises once
  /// the daemon is running and the adapter is on.
  package actor BlueZPeripheral: Peripheral, BlueZClient {
    let queue = DispatchQueue(label: "holdfast.bluez.peripheral")
    let executor: QueueExecutor
    private let deliver: @Sendable (PeripheralEvent) -> Void
    private var server: BlueZServer
    var bus: BlueZBus

    /// The executor that runs the actor on the queue of the bus.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    /// A characteristic and the operations that a central may perform on it.
    package struct Part: Sendable, Hashable {
      package let id: GATTID
      /// The operations by their names in BlueZ: read, write, notify.
      package let flags: [String]

      package init(_ id: GATTID, _ flags: [String]) { (self.id, self.flags) = (id, flags) }
    }

    /// Creates a peripheral that is not yet advertising.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`; `nil` for the first one.
    ///   - address: A D-Bus address; `nil` for the system bus.
    ///   - deliver: A function that receives the events of centrals. It must return quickly.
    package init(
      adapter: String?, service: GATTID, name: String, parts: [Part], address: String? = nil,
      deliver: @escaping @Sendable (PeripheralEvent) -> Void
    ) {
      executor = QueueExecutor(queue)
      server = BlueZServer(
        adapter: adapter, exports: BlueZServerExports(service: service, name: name, parts: parts))
      bus = BlueZBus(address: address)
      self.deliver = deliver
      enqueue { $0.open() }
    }

    package nonisolated func advertise(_ isOn: Bool) { feed(.advertise(isOn)) }

    package nonisolated func disconnect() { feed(.disconnect) }

    package nonisolated func notify(_ id: GATTID, _ bytes: [UInt8]) { feed(.notify(id, bytes)) }

    package nonisolated func reply(_ number: UInt16, _ bytes: [UInt8]?) {
      feed(.reply(number, bytes))
    }

    /// Ends the connection and closes the peripheral.
    package func close() {
      take(.close)
      closeBus()
    }

    // MARK: On the queue

    private nonisolated func feed(_ input: BlueZServer.Input) { enqueue { $0.take(input) } }

    private func take(_ input: BlueZServer.Input) {
      guard !bus.isClosed else { return }
      perform(server.handle(input, at: bus.clock.now))
    }

    private func perform(_ effects: [BlueZServer.Effect]) {
      for effect in effects {
        switch effect {
        case .call(let id, let member): call(id, member)
        case .answer(let number, let result): answer(number, result)
        case .emit(let signal): try? bus.peer?.emit(signal)
        case .report(let event): deliver(event)
        }
      }
      stepEnded()
    }

    var deadline: Instant? { server.deadline }

    func tick() { perform(server.tick(at: bus.clock.now)) }

    func receive(_ message: BlueZMessage) { take(.bus(message)) }
  }

  /// The objects that a peripheral exports to BlueZ.
  struct BlueZServerExports: Sendable {
    static let root = "/holdfast/peripheral"
    static let advertisement = "/holdfast/advertisement"
    private static let service = root + "/service"

    let objects: BlueZObjects
    private let paths: [GATTID: String]

    init(service: GATTID, name: String, parts: [BlueZPeripheral.Part]) {
      var objects: [String: BlueZObjects.Interfaces] = [
        Self.service: [
          BlueZName.gattService: ["UUID": .text(service.description), "Primary": .boolean(true)]
        ],
        Self.advertisement: [
          BlueZName.advertisement: [
            "Type": .text("peripheral"), "ServiceUUIDs": .texts([service.description]),
            "LocalName": .text(name),
          ]
        ],
      ]
      var paths: [GATTID: String] = [:]
      for (number, part) in parts.enumerated() {
        let path = Self.service + "/part\(number)"
        paths[part.id] = path
        objects[path] = [
          BlueZName.characteristic: [
            "UUID": .text(part.id.description), "Service": .path(Self.service),
            "Flags": .texts(part.flags),
          ]
        ]
      }
      (self.objects, self.paths) = (BlueZObjects(objects), paths)
    }

    func path(of id: GATTID) -> String? { paths[id] }

    func characteristic(at path: String) -> GATTID? { paths.first { $0.value == path }?.key }
  }
#endif
