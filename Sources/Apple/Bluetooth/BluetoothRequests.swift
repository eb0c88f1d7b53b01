#if canImport(CoreBluetooth)
  import CoreBluetooth
  import Dispatch
  import Foundation
  import HoldfastCore
  import HoldfastBottleData

  // Requests to a connected peripheral. The callbacks do not name a request, so only one is in
  // progress at a time.
  extension BluetoothRadio {
    /// The work of a request.
    enum Work: Sendable {
      case discover(GATTID, [GATTID])
      case notify(GATTID)
      case read(GATTID)
      case write(GATTID, [UInt8])

      /// The characteristic that must be discovered first.
      var characteristic: GATTID? {
        switch self {
        case .discover: nil
        case .notify(let id), .read(let id), .write(let id, _): id
        }
      }
    }

    /// The callback for which a request waits.
    enum Step {
      case waiting
      /// The service that is to be discovered.
      case service
      /// The characteristics of the service that is to be discovered.
      case characteristics(CBService)
      case allServices
      /// The characteristics of the first of these services.
      case allCharacteristics([CBService])
      case value
      /// The end of a change of the subscription.
      case subscription(Bool)
    }

    /// A request of a ticket.
    final class Request {
      let attempt: AttemptID
      let work: Work
      var step = Step.waiting
      /// The receiver of the result; `nil` after the ticket was cancelled.
      var answer: ((Result<[UInt8], LinkFailure>) -> Void)?

      init(
        _ work: Work, of attempt: AttemptID,
        _ answer: @escaping (Result<[UInt8], LinkFailure>) -> Void
      ) {
        (self.work, self.attempt, self.answer) = (work, attempt, answer)
      }
    }

    /// Begins a request after all earlier ones.
    func request(
      _ work: Work, of attempt: AttemptID,
      _ answer: @escaping (Result<[UInt8], LinkFailure>) -> Void
    ) {
      guard let peer = openPeer(of: attempt), peer.isConnected else {
        answer(.failure(.local(detail: "there is no connection")))
        return
      }
      peer.requests.append(Request(work, of: attempt, answer))
      beginNext(peer)
    }

    /// Ends the requests of a ticket. The one in progress keeps its place, since its callback would
    /// otherwise be taken for that of the next one.
    func endRequests(of attempt: AttemptID, at peer: Peer) {
      let ended = peer.requests.filter { $0.attempt == attempt }
      peer.requests.removeAll { $0.attempt == attempt && !$0.isInProgress }
      for request in ended { request.end(.failure(.local(detail: "the attempt was cancelled"))) }
    }

    /// Ends all requests of a peripheral.
    func endRequests(at peer: Peer, _ failure: LinkFailure) {
      let ended = peer.requests
      peer.requests = []
      for request in ended { request.end(.failure(failure)) }
    }

    private func beginNext(_ peer: Peer) {
      // The requests of a connection that was lost end with the callback of the loss.
      guard isOn, peer.phase == .open, peer.isConnected, let request = peer.requests.first,
        !request.isInProgress
      else { return }
      // The report of a loss and of a new connection is missing.
      if peer.hasOldServices { return lost(peer, .reset) }
      if case .discover(let service, _) = request.work {
        request.step = .service
        peer.peripheral.discoverServices([service.bluetooth])
      } else {
        perform(request, at: peer)
      }
    }

    /// Performs a request for a characteristic. The first one that was not discovered leads to the
    /// discovery of all services, since a central's `discover` names only the required ones.
    private func perform(_ request: Request, at peer: Peer) {
      guard let id = request.work.characteristic else { return }
      guard let found = peer.characteristic(id) else {
        guard !peer.isComplete else {
          return finish(peer, .failure(.protocolError(detail: "the characteristic is missing")))
        }
        request.step = .allServices
        peer.peripheral.discoverServices(nil)
        return
      }
      switch request.work {
      case .discover: return
      case .notify:
        // A subscription that the system kept may deliver nothing. It is turned off and on again.
        request.step = .subscription(!found.isNotifying)
        peer.peripheral.setNotifyValue(!found.isNotifying, for: found)
      case .read:
        request.step = .value
        peer.peripheral.readValue(for: found)
      case .write(_, let bytes):
        request.step = .value
        peer.peripheral.writeValue(Data(bytes), for: found, type: .withResponse)
      }
    }

    private func finish(_ peer: Peer, _ result: Result<[UInt8], LinkFailure>) {
      guard !peer.requests.isEmpty else { return }
      peer.requests.removeFirst().end(result)
      beginNext(peer)
    }

    /// Discovers the characteristics of the next service, or performs the request after the last.
    private func discoverRest(_ services: [CBService], for request: Request, at peer: Peer) {
      if let next = services.first {
        request.step = .allCharacteristics(services)
        peer.peripheral.discoverCharacteristics(nil, for: next)
      } else {
        peer.isComplete = true
        perform(request, at: peer)
      }
    }

    /// Returns the connected peer of a callback and its request in progress.
    private func current(_ peripheral: CBPeripheral) -> (Peer, Request)? {
      guard let peer = peer(peripheral), peer.phase == .open, peer.isConnected,
        let request = peer.requests.first
      else { return nil }
      return (peer, request)
    }
  }

  extension BluetoothRadio: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let (peer, request) = current(peripheral) else { return }
      switch (request.step, request.work) {
      case (.service, .discover(let id, _)):
        if let error { return finish(peer, .failure(LinkFailure(error))) }
        let found = peripheral.services ?? []
        guard let service = found.first(where: { GATTID($0.uuid) == id }) else {
          return finish(peer, .failure(.protocolError(detail: "the service is missing")))
        }
        peer.services = found
        request.step = .characteristics(service)
        peripheral.discoverCharacteristics(nil, for: service)
      case (.allServices, _):
        if let error { return finish(peer, .failure(LinkFailure(error))) }
        peer.services = peripheral.services ?? []
        discoverRest(
          peer.services.filter { $0.characteristics == nil }, for: request, at: peer)
      case _: return  // late or twice
      }
    }

    func peripheral(
      _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
      error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let (peer, request) = current(peripheral) else { return }
      switch (request.step, request.work) {
      case (.characteristics(let wanted), .discover(_, let ids)):
        guard service.uuid == wanted.uuid else { return }
        if let error { return finish(peer, .failure(LinkFailure(error))) }
        let found = Set((service.characteristics ?? []).compactMap { GATTID($0.uuid) })
        let isThere = found.isSuperset(of: ids)
        finish(
          peer,
          isThere ? .success([]) : .failure(.protocolError(detail: "a characteristic is missing")))
      case (.allCharacteristics(let rest), _):
        // A service that cannot be discovered is skipped.
        guard service.uuid == rest.first?.uuid else { return }
        discoverRest(Array(rest.dropFirst()), for: request, at: peer)
      case _: return
      }
    }

    func peripheral(
      _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
      error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let (peer, request) = current(peripheral),
        case .subscription(let isWanted) = request.step,
        GATTID(characteristic.uuid) == request.work.characteristic
      else { return }
      if let error { return finish(peer, .failure(LinkFailure(error))) }
      guard characteristic.isNotifying == isWanted else { return }
      if isWanted { finish(peer, .success([])) } else { perform(request, at: peer) }
    }

    /// Handles the value of a read or of a notification. Core Bluetooth does not distinguish them.
    ///
    /// A notification that arrives during a read of the same characteristic answers the read. Both
    /// values are current, and the other one is then reported as a notification.
    func peripheral(
      _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
      error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let peer = peer(peripheral), peer.phase == .open, let id = GATTID(characteristic.uuid)
      else { return }
      let value = [UInt8](characteristic.value ?? Data())
      if let request = peer.requests.first, case (.value, .read(id)) = (request.step, request.work)
      {
        return finish(peer, error.map { .failure(LinkFailure($0)) } ?? .success(value))
      }
      guard error == nil, let oldest = peer.tickets.first else { return }
      tell(.value(oldest.attempt, id, value))
    }

    func peripheral(
      _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
      error: (any Error)?
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let (peer, request) = current(peripheral),
        case (.value, .write(let id, _)) = (request.step, request.work),
        GATTID(characteristic.uuid) == id
      else { return }
      finish(peer, error.map { .failure(LinkFailure($0)) } ?? .success([]))
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService])
    {
      dispatchPrecondition(condition: .onQueue(queue))
      guard let peer = peer(peripheral), peer.phase == .open,
        peer.services.contains(where: { used in invalidatedServices.contains { $0 === used } })
          || peer.requests.first?.isDiscovery == true
      else { return }
      (peer.services, peer.isComplete) = ([], false)
      // The change is reported first. Otherwise, a discovery that it ends would look like a failure.
      for ticket in peer.tickets { tell(.changed(ticket.attempt)) }
      endRequests(at: peer, .protocolError(detail: "the peripheral changed its services"))
    }
  }

  extension BluetoothRadio.Request {
    var isInProgress: Bool { if case .waiting = step { false } else { true } }

    /// Whether the request waits for the end of a discovery. A change of the services may prevent
    /// it.
    var isDiscovery: Bool {
      switch step {
      case .service, .characteristics, .allServices, .allCharacteristics: true
      case .waiting, .value, .subscription: false
      }
    }

    /// Passes the result to the receiver, at most once.
    func end(_ result: Result<[UInt8], LinkFailure>) {
      answer?(result)
      answer = nil
    }
  }

  extension BluetoothRadio.Peer {
    /// Returns a characteristic that was discovered during this connection.
    func characteristic(_ id: GATTID) -> CBCharacteristic? {
      services.lazy.flatMap { $0.characteristics ?? [] }.first { GATTID($0.uuid) == id }
    }
  }
#endif
