import HoldfastCore
import HoldfastOperators
import HoldfastServerParts
import HoldfastServerSockets

extension ServiceContext {
  /// Returns the connections that operators see.
  ///
  /// - Parameter owner: A function that returns the phone of a socket and the phone's user.
  func connections(
    _ owner: (ConnectionID) -> (phone: String, user: String?)?
  ) -> [AdminConnection] {
    var seen: [AdminConnection] = []
    if let kind = S.kind(ofSocket: true) {
      for (id, exchange) in exchanges.sockets {
        var one = connection(id, exchange, kind)
        if let owner = owner(id) {
          one.phone = owner.phone
          one.user = one.user ?? owner.user
        }
        seen.append(one)
      }
    }
    if let kind = S.kind(ofSocket: false) {
      for exchange in exchanges.requests.values {
        guard let id = hub.connection(of: exchange.request) else { continue }
        seen.append(connection(id, exchange, kind))
      }
    }
    return seen
  }

  private func connection(
    _ id: ConnectionID, _ exchange: Exchange, _ kind: AdminConnection.Kind
  ) -> AdminConnection {
    var one = AdminConnection(
      id: id, kind: kind, age: exchange.since.duration(to: now), sent: hub.sentBytes(of: id))
    for (key, text) in exchange.line.names {
      switch key {
      case "user": one.user = text
      case "shop": one.shop = text
      case _: break
      }
    }
    (one.address, one.agent) = (exchange.line.address?.text, exchange.agent)
    return one
  }

  /// Closes a socket with a close frame, or drops the connection of a request. Returns `false` if
  /// the service has no such connection.
  func disconnect(_ id: ConnectionID, _ closure: Closure) -> Bool {
    if exchanges.sockets[id] != nil {
      close(id, closure)
      return true
    }
    guard S.kind(ofSocket: false) != nil,
      exchanges.requests.values.contains(where: { $0.line.connection == id.number })
    else { return false }
    hub.drop(id)
    return true
  }
}

extension LogLine {
  /// Returns the outcome of an act of an operator; `nil` stands for an operator who has left.
  static func outcome(of status: Int?) -> String {
    switch status {
    case nil: "unanswered"
    case 202?: "accepted"
    case .some(..<300): "done"
    case 401?: "not_admitted"
    case .some(500...): "failed"
    case .some: "refused"
    }
  }
}
