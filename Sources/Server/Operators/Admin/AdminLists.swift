public import HoldfastCore
import HoldfastJSON
public import HoldfastMessageData
import HoldfastRelayData
public import HoldfastRelayServer

/// A connection of a client, as operators see it.
public struct AdminConnection: Sendable, Hashable {
  /// The kinds of connections.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The socket of a client that follows a shop.
    case stream
    /// The socket of a phone that answers questions.
    case phone
    /// The socket of a session.
    case session
    /// A request of an assistant that is being answered.
    case assistant
    /// A request of health sync that is being answered.
    case sync
  }

  /// The number that also names the connection in the log.
  public var id: ConnectionID
  /// The service that the connection uses.
  public var kind: Kind
  /// The user, if known.
  public var user: String?
  /// The shop, of a message stream.
  public var shop: String?
  /// The ID of the phone, of a phone's socket.
  public var phone: String?
  /// The client's address, if the connection has one.
  public var address: String?
  /// The time since the socket was opened, or the request arrived.
  public var age: Duration
  /// The number of bytes that were sent on the connection.
  public var sent: UInt64
  /// The client's `User-Agent`, cut to 128 Unicode scalars.
  public var agent: String?

  /// Creates a connection of an unknown user.
  public init(id: ConnectionID, kind: Kind, age: Duration, sent: UInt64 = 0) {
    (self.id, self.kind, self.age, self.sent) = (id, kind, age, sent)
  }
}

/// The answers to requests of operators, as JSON.
///
/// Each answer names the node that gave it; the name is `null` if there is only one.
public struct AdminAnswers: Sendable {
  private let node: String?

  /// Creates the answers of a node; `nil` if there is only one.
  public init(node: String?) {
    self.node = node
  }

  private func text(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.object {
      $0.entry("node", node)
      members(&$0)
    }
    return writer.bytes
  }

  /// Returns a page of the connections that a filter selects, oldest first.
  ///
  /// - Parameter wall: The present time.
  public func connections(
    _ all: [AdminConnection], _ filter: AdminFilter, _ page: AdminPage, at wall: Timestamp
  ) -> [UInt8] {
    let sorted = all.filter { filter.selects($0) }.sorted { $0.id < $1.id }
    let part = page.cut(sorted) {
      String($0.id.number)
    } isAfter: {
      $0.id.number > (UInt64($1) ?? 0)
    }
    return text {
      $0.array("connections") { for one in part.elements { $0.connection(one, at: wall) } }
      $0.entry("next", part.next)
    }
  }

  /// Returns a page of the users who have a socket of a shop, by name.
  public func presence(
    _ all: [AdminConnection], in shop: ShopID, _ page: AdminPage, at wall: Timestamp
  ) -> [UInt8] {
    let sockets = all.filter { $0.kind == .stream && $0.shop == shop.text }
    let users = Dictionary(grouping: sockets.filter { $0.user != nil }) { $0.user ?? "" }
    let part = page.cut(users.keys.sorted()) {
      $0
    } isAfter: {
      $0 > $1
    }
    return text {
      $0.entry("shop", shop.text)
      $0.array("users") { writer in
        for user in part.elements {
          let own = users[user] ?? []
          writer.object {
            $0.entry("user", user)
            $0.entry("sockets", own.count)
            $0.entry("since", own.map(\.age).max().map { wall.before($0) })
          }
        }
      }
      $0.entry("next", part.next)
    }
  }

  /// Returns a page of the phones, by ID.
  public func phones(_ all: [AdminPhone], _ page: AdminPage) -> [UInt8] {
    let part = page.cut(all.sorted { $0.id < $1.id }) {
      $0.id.description
    } isAfter: {
      $0.id.description > $1
    }
    return text {
      $0.array("phones") { for phone in part.elements { $0.phone(phone) } }
      $0.entry("next", part.next)
    }
  }

  /// Returns a page of the erasures, in the order of their acceptance.
  public func jobs(_ all: [EraseJob], _ page: AdminPage) -> [UInt8] {
    let start = page.after.flatMap { after in
      all.firstIndex { $0.id.description == after }.map { $0 + 1 }
    }
    let rest = all[min(start ?? 0, all.count)...]
    let elements = rest.prefix(page.limit)
    return text {
      $0.array("jobs") { for job in elements { $0.object(job.write(to:)) } }
      $0.entry(
        "next", rest.count > page.limit ? elements.last.map(\.id.description) : nil)
    }
  }

  /// Returns one erasure.
  public func job(_ job: EraseJob) -> [UInt8] { text(job.write(to:)) }

  /// Returns the number of connections that were closed.
  public func closed(_ count: Int, _ closing: AdminClosing) -> [UInt8] {
    text {
      $0.entry("closed", count)
      $0.entry("code", closing.rawValue)
    }
  }

  /// Returns the answer to a drain, which has begun.
  public var draining: [UInt8] { text { $0.entry("state", "draining") } }
}

extension JSONWriter {
  fileprivate mutating func connection(_ one: AdminConnection, at wall: Timestamp) {
    object {
      // A number beyond 2^53 would be rounded by some readers.
      $0.entry("id", String(one.id.number))
      $0.entry("kind", one.kind.rawValue)
      $0.entry("user", one.user)
      $0.entry("shop", one.shop)
      $0.entry("phone", one.phone)
      $0.entry("address", one.address)
      $0.entry("since", wall.before(one.age))
      $0.entry("sent", one.sent)
      $0.entry("agent", one.agent)
    }
  }

  fileprivate mutating func phone(_ phone: AdminPhone) {
    object {
      $0.entry("id", phone.id.description)
      $0.entry("state", phone.state.rawValue)
      $0.entry("connection", phone.connection.map { String($0.number) })
      $0.entry("left_at", phone.leftAt.map { RFC3339.format($0) })
      $0.entry("user", phone.user)
      $0.entry("assistants", phone.assistants)
      $0.entry("wakeable", phone.isWakeable)
    }
  }
}

extension Timestamp {
  /// Returns the time that was a duration ago, in whole milliseconds, as text.
  fileprivate func before(_ age: Duration) -> String {
    let time = advanced(by: .zero - age).nanoseconds
    return RFC3339.format(Timestamp(nanoseconds: time - time % 1_000_000))
  }
}
