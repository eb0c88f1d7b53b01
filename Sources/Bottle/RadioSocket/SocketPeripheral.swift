import Dispatch
package import HoldfastBottleData
package import HoldfastFeaturePorts
import Synchronization

/// A peripheral on a Unix socket. One phone at a time can connect to it.
///
/// While no phone is connected, the peripheral advertises once a second, and immediately to a phone
/// that comes into range. It notifies the connected phone only of characteristics that the phone
/// has subscribed to. Events are delivered in order on a separate queue. A `disconnected` event
/// follows each `connected` event, whichever end closed the connection, unless the radio is closed.
package final class SocketPeripheral: Peripheral {
  struct State {
    var phones: [UInt64: FrameChannel] = [:]
    var lastPhone: UInt64 = 0
    var linked: UInt64?
    /// The characteristics that the connected phone has subscribed to.
    var subscribed: Set<GATTID> = []
    var isAdvertising = false
    var listener: Watch?
    var timer: Watch?
  }

  private let path: String
  private let advertisement: RadioFrame
  private let characteristics: Set<GATTID>
  private let longestValue: UInt16
  private let queue = DispatchQueue(label: "holdfast.peripheral")
  private let event: @Sendable (PeripheralEvent) -> Void
  private let state = Mutex(State())

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - path: The path of the socket. A file that another process left behind is replaced.
  ///   - longestValue: The maximum size of a notification's value, MTU - 3.
  /// - Throws: `RadioSocketError` if the socket is in use or cannot be created.
  package init(
    path: String, id: PeripheralID, service: GATTID, name: String, characteristics: [GATTID],
    longestValue: UInt16, event: @escaping @Sendable (PeripheralEvent) -> Void
  ) throws(RadioSocketError) {
    advertisement = .advertisement(id, service: service, name: name)
    self.path = path
    self.characteristics = Set(characteristics)
    (self.longestValue, self.event) = (longestValue, event)
    let descriptor = try LocalSocket.listen(on: path)
    let listener = Watch(reading: descriptor, on: queue) { [weak self] in
      if let taken = LocalSocket.accept(on: descriptor) { self?.add(taken) }
    }
    let timer = Watch(everySecondOn: queue) { [weak self] in self?.advertise() }
    state.withLock { ($0.listener, $0.timer) = (listener, timer) }
  }

  /// Starts or stops advertising. It does not start while a phone is connected.
  package func advertise(_ isOn: Bool) {
    queue.async { [self] in
      // A phone may have connected before the owner received the event.
      state.withLock { $0.isAdvertising = isOn && $0.linked == nil }
      advertise()
    }
  }

  /// Ends the connection.
  package func disconnect() {
    queue.async { [self] in
      let phone = state.withLock { state -> FrameChannel? in
        let phone = state.linked.flatMap { state.phones[$0] }
        state.unlink()
        return phone
      }
      guard let phone else { return }
      phone.send(.disconnected)
      event(.disconnected)
    }
  }

  /// Notifies the connected phone of a value if the phone has subscribed to the characteristic.
  package func notify(_ id: GATTID, _ bytes: [UInt8]) {
    queue.async { [self] in
      let phone = state.withLock { state -> FrameChannel? in
        guard state.subscribed.contains(id) else { return nil }
        return state.linked.flatMap { state.phones[$0] }
      }
      phone?.send(.notification(id, bytes))
    }
  }

  /// Responds to a request, or refuses it if the bytes are `nil`.
  package func reply(_ number: UInt16, _ bytes: [UInt8]?) {
    queue.async { [self] in
      state.withLock { state in state.linked.flatMap { state.phones[$0] } }?
        .send(.reply(number, bytes))
    }
  }

  /// Closes all connections and removes the socket. Phones then find the peripheral out of range.
  package func close() {
    queue.sync {
      let (phones, listener, timer) = state.withLock { state in
        let all = (Array(state.phones.values), state.listener, state.timer)
        state = State()
        return all
      }
      timer?.cancel()
      // The descriptor closes slightly later, so the path is removed first.
      if listener != nil { LocalSocket.remove(path) }
      listener?.cancel()
      for phone in phones { phone.end() }
    }
  }

  // MARK: On the queue

  private func advertise() {
    let phones = state.withLock { $0.isAdvertising ? Array($0.phones.values) : [] }
    for phone in phones { phone.send(advertisement) }
  }

  private func add(_ descriptor: Int32) {
    let number = state.withLock { state -> UInt64 in
      state.lastPhone += 1
      return state.lastPhone
    }
    let channel = FrameChannel(descriptor, on: queue) { [weak self] frame in
      self?.take(frame, of: number)
    } ended: { [weak self] in
      self?.channelEnded(number)
    }
    let isAdvertising = state.withLock { state in
      state.phones[number] = channel
      return state.isAdvertising
    }
    if isAdvertising { channel.send(advertisement) }
  }

  private func take(_ frame: RadioFrame, of number: UInt64) {
    let (phone, isLinked) = state.withLock { ($0.phones[number], $0.linked == number) }
    switch frame {
    case .connect: connect(number, phone)
    case .disconnect:
      guard isLinked else { return }
      state.withLock { $0.unlink() }
      event(.disconnected)
    case .discover(let request, let ids) where isLinked:
      phone?.send(.reply(request, characteristics.isSuperset(of: ids) ? [] : nil))
    case .subscribe(let request, let id) where isLinked && characteristics.contains(id):
      state.withLock { _ = $0.subscribed.insert(id) }
      phone?.send(.reply(request, []))
    case .read(let request, let id) where isLinked: event(.read(request, id))
    case .write(let request, let id, let bytes) where isLinked: event(.write(request, id, bytes))
    case .discover(let request, _), .subscribe(let request, _), .read(let request, _),
      .write(let request, _, _):
      phone?.send(.reply(request, nil))
    case .advertisement, .connected, .disconnected, .notification, .reply: return
    }
  }

  private func connect(_ number: UInt64, _ phone: FrameChannel?) {
    let isTaken = state.withLock { state in
      guard state.isAdvertising, state.linked == nil else { return false }
      (state.linked, state.isAdvertising) = (number, false)
      return true
    }
    phone?.send(isTaken ? .connected(longestValue: longestValue) : .disconnected)
    if isTaken { event(.connected(longestValue: Int(longestValue))) }
  }

  private func channelEnded(_ number: UInt64) {
    let wasLinked = state.withLock { state in
      state.phones[number] = nil
      guard state.linked == number else { return false }
      state.unlink()
      return true
    }
    if wasLinked { event(.disconnected) }
  }
}

extension SocketPeripheral.State {
  fileprivate mutating func unlink() { (linked, subscribed) = (nil, []) }
}
