public import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts

// What operators see and do.
extension RelayServer {
  /// All phones, in no order.
  public var adminPhones: [AdminPhone] {
    phones.everyone.map { phone in
      let state: AdminPhone.State =
        switch phone.presence {
        case .greeting, .here: .here
        case .away: .away
        case .over: .over
        }
      return AdminPhone(
        id: phone.id, state: state, connection: phone.connection, leftAt: phone.leftAt,
        user: phone.synced?.name, assistants: tokens.accesses(to: phone.id).count,
        isWakeable: phone.wakePush.address != nil)
    }
  }

  /// Returns the phone on a socket, and the user of health sync whose samples answer for it.
  public func owner(of connection: ConnectionID) -> (phone: String, user: String?)? {
    guard let id = sockets.phone(on: connection), let phone = phones[id] else { return nil }
    return (id.description, phone.synced?.name)
  }

  /// Ends the pairings of the phones whose samples are those of a user. Nothing about the phones is
  /// kept, and their assistants have to pair anew.
  mutating func erase(_ user: String) {
    let owned = phones.everyone.filter { $0.synced?.name == user }.map(\.id).sorted()
    for id in owned {
      if let connection = phones[id]?.connection { close(connection, .erased) }
      end(id, .lost)
      phones.change(id) { $0.synced = nil }
      for token in tokens.tokens(of: id) { forget(token) }
      phones.forget(id)
    }
  }
}
