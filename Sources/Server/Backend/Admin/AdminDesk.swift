import Glibc
import HoldfastCore
import HoldfastMessageData
import HoldfastOperators
import HoldfastPorts
import HoldfastProtocols
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastServerSockets

/// The parts with which a handler serves operators, and erasures that other nodes pass on.
struct AdminDesk: Sendable {
  /// The token that operators present; `nil` if the address is a Unix domain socket without one.
  let token: AdminToken?
  /// Whether there is an address for operators. Otherwise only other nodes pass erasures on.
  let hasAddress: Bool
  let answers: AdminAnswers
  /// The erasures.
  let work: AdminWork
  /// A function that begins the end of the process. Further calls do nothing.
  let drain: @Sendable () -> Void

  /// Returns the refusal of a request that does not show the token; `nil` if it does.
  ///
  /// Without a token, the request must come from the user of this process or from root, which only
  /// a Unix domain socket tells: one that the service manager has passed may be open to all users.
  static func refusal(
    of head: HTTPRequestHead, from user: UInt32?, token: AdminToken?, own: UInt32 = geteuid()
  ) -> HTTPRefusal? {
    guard let token else {
      guard user != own, user != 0 else { return nil }
      return HTTPRefusal(
        403,
        "only the user of the backend and root may act here; for others, add --admin-token-file")
    }
    guard let shown = head.bearer, token.isEqual(to: shown) else {
      return HTTPRefusal(401, "no valid token; send that of --admin-token-file")
    }
    return nil
  }
}

/// A request of an operator that has not been answered, with its line of the log.
struct AdminAct: Sendable {
  var request: RequestID
  var line: LogLine
  var since: Instant

  init(_ request: RequestID, on hub: SocketHub, token: AdminToken?) {
    self.request = request
    since = hub.now
    line = LogLine(.admin)
    let connection = hub.connection(of: request)
    line.connection = connection?.number
    let user = connection.flatMap { hub.peerUser(of: $0) }
    line.names = [("by", user.map { "uid \($0)" } ?? token.map { "token \($0.shortName)" })]
  }

  /// Sets what the request asks for.
  mutating func describe(_ call: AdminCall) {
    line.names.append(("act", call.name))
    switch call {
    case .connections(let filter, _):
      line.names += [("user", filter.user), ("shop", filter.shop?.text)]
    case .disconnect(let id, _): line.names.append(("closes", String(id.number)))
    case .disconnectUser(let user, _): line.names.append(("user", user))
    case .publish(let post): line.names += [("user", post.author), ("shop", post.shop.text)]
    case .presence(let shop, _): line.names.append(("shop", shop.text))
    // The log outlives the user, so it has only the job.
    case .erase, .jobs, .phones, .drain: break
    case .job(let id): line.names.append(("job", id.description))
    }
  }
}

extension BackendHandler {
  typealias Reply = (status: Int, headers: [(String, String)], body: [UInt8])

  /// Serves a request at the address for operators, and an erasure that another node passes on.
  /// Returns false for other requests.
  mutating func serveOperator(
    _ request: RequestID, _ head: HTTPRequestHead, body: [UInt8], on hub: SocketHub
  ) -> Bool {
    switch hub.listener(of: request) {
    case .admin: break
    case .nodes: return serveNode(request, head, body, on: hub)
    case .clients, .metrics: return false
    }
    guard let admin else { return false }
    var act = AdminAct(request, on: hub, token: admin.token)
    let user = hub.connection(of: request).flatMap { hub.peerUser(of: $0) }
    if let refusal = AdminDesk.refusal(of: head, from: user, token: admin.token) {
      act.line.names = [("by", user.map { "uid \($0)" }), ("act", "sign_in")]
      answer(act, refusal, on: hub)
      return true
    }
    do throws(HTTPRefusal) {
      let call = try AdminCall.read(
        method: head.method, path: head.segments,
        query: head.query.map { (name: $0.name, value: $0.value) }, body: body)
      act.describe(call)
      try carryOut(call, act, admin, on: hub)
    } catch {
      answer(act, error, on: hub)
    }
    return true
  }

  private mutating func carryOut(
    _ call: AdminCall, _ act: AdminAct, _ admin: AdminDesk, on hub: SocketHub
  ) throws(HTTPRefusal) {
    let wall = BootClock().wall
    switch call {
    case .connections(let filter, let page):
      answer(act, admin.answers.connections(connections, filter, page, at: wall), on: hub)
    case .presence(let shop, let page):
      answer(act, admin.answers.presence(connections, in: shop, page, at: wall), on: hub)
    case .phones(let page): try answerPhones(page, act, admin, on: hub)
    case .disconnect(let id, let closing):
      guard disconnect({ $0.id == id }, closing.closure) > 0 else {
        throw HTTPRefusal(
          404, "no such connection at this node; see GET /admin/connections for those that are open"
        )
      }
      answer(act, admin.answers.closed(1, closing), count: 1, on: hub)
    case .disconnectUser(let user, let closing):
      let count = disconnect({ $0.user == user }, closing.closure)
      answer(act, admin.answers.closed(count, closing), count: count, on: hub)
    case .publish(let post): try publish(post, act)
    case .erase(let user): erase(user, act, admin)
    case .jobs, .job: show(call, act, admin)
    case .drain:
      answer(act, admin.answers.draining, status: 202, on: hub)
      admin.drain()
    }
  }

  // MARK: - Answers

  private func answer(_ act: AdminAct, _ refusal: HTTPRefusal, on hub: SocketHub) {
    answer(act, (refusal.status, refusal.headers, refusal.bytes), on: hub)
  }

  private func answer(
    _ act: AdminAct, _ body: [UInt8], status: Int = 200, count: Int? = nil, on hub: SocketHub
  ) {
    answer(act, (status, HTTPFields.json, body), count: count, on: hub)
  }

  private func answer(
    _ act: AdminAct, _ reply: Reply, count: Int? = nil, on hub: SocketHub
  ) {
    var line = act.line
    (line.status, line.outcome) = (reply.status, LogLine.outcome(of: reply.status))
    line.elapsed = act.since.duration(to: hub.now)
    line.count = count.map { UInt64($0) }
    log.note(line)
    hub.respond(
      to: act.request, status: reply.status, headers: reply.headers, body: reply.body)
  }

  /// Answers once work outside the loop is done.
  private func answer(
    _ act: AdminAct, with work: @escaping @Sendable () async -> (reply: Reply, job: UUID128?)
  ) {
    guard let inject else { return }
    Task.detached {
      let (reply, job) = await work()
      inject { handler, hub in
        var act = act
        if let job { act.line.names.append(("job", job.description)) }
        handler.answer(act, reply, on: hub)
      }
    }
  }

  // MARK: - Connections

  /// The connections of all services, in no order.
  private var connections: [AdminConnection] { runners.flatMap { $0.connections() } }

  /// Closes the selected connections. Returns their number.
  mutating func disconnect(_ selects: (AdminConnection) -> Bool, _ closure: Closure) -> Int {
    var count = 0
    for runner in runners {
      for one in runner.connections() where selects(one) {
        if runner.disconnect(one.id, closure) { count += 1 }
      }
    }
    return count
  }

  private mutating func answerPhones(
    _ page: AdminPage, _ act: AdminAct, _ admin: AdminDesk, on hub: SocketHub
  ) throws(HTTPRefusal) {
    var phones: [AdminPhone]?
    work(on: RelayService.self) { runner in
      runner.enter { service, _ in
        phones = service.rules.relay.adminPhones
        return nil
      }
    }
    guard let phones else {
      throw HTTPRefusal(
        503, "another node runs the relay; ask the node with the role in `holdfast nodes`",
        retryAfter: .seconds(2))
    }
    answer(act, admin.answers.phones(phones, page), on: hub)
  }

  private mutating func publish(
    _ post: AdminPost, _ act: AdminAct
  ) throws(HTTPRefusal) {
    guard work(on: ShopService.self, { $0.publish(post, as: act.request, act.line) }) else {
      throw HTTPRefusal(503, "this node does not take messages", retryAfter: .seconds(2))
    }
  }

  // MARK: - Erasures

  private func erase(_ user: String, _ act: AdminAct, _ admin: AdminDesk) {
    answer(act) {
      do throws(HTTPRefusal) {
        let job = try await admin.work.accept(user)
        let place = ("Location", "/admin/jobs/\(job.id)")
        return ((202, HTTPFields.json + [place], admin.answers.job(job)), job.id)
      } catch {
        return ((error.status, error.headers, error.bytes), nil)
      }
    }
  }

  private func show(_ call: AdminCall, _ act: AdminAct, _ admin: AdminDesk) {
    answer(act) {
      let jobs = await admin.work.all
      switch call {
      case .job(let id):
        guard let job = jobs.first(where: { $0.id == id }) else {
          let refusal = HTTPRefusal(
            404, "no such job at this node; of ended ones, \(EraseJobs.mostEnded) are kept")
          return ((refusal.status, refusal.headers, refusal.bytes), nil)
        }
        return ((200, HTTPFields.json, admin.answers.job(job)), nil)
      case .jobs(let page): return ((200, HTTPFields.json, admin.answers.jobs(jobs, page)), nil)
      case _: return ((404, HTTPFields.json, []), nil)
      }
    }
  }

  /// Ends the pairings and the sessions of a user whom another node erases.
  private func serveNode(
    _ request: RequestID, _ head: HTTPRequestHead, _ body: [UInt8], on hub: SocketHub
  ) -> Bool {
    guard let admin, head.method == "POST", head.path == RoleErasure.path else { return false }
    var act = AdminAct(request, on: hub, token: nil)
    act.line.names = [("by", "node"), ("act", "erase_pairings")]
    let user = String(decoding: body, as: UTF8.self)
    answer(act) {
      do throws(StoreFailure) {
        try await admin.work.eraseRoleHere(of: user)
        return ((200, HTTPFields.json, Array("{}".utf8)), nil)
      } catch {
        let refusal = HTTPRefusal(503, "\(error)", retryAfter: .seconds(2))
        return ((refusal.status, refusal.headers, refusal.bytes), nil)
      }
    }
    return true
  }
}

extension ShopService {
  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind? { isSocket ? .stream : nil }
}

extension RelayService {
  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind? {
    isSocket ? .phone : .assistant
  }

  func owner(of socket: ConnectionID) -> (phone: String, user: String?)? {
    rules.relay.owner(of: socket)
  }
}

extension SessionService {
  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind? { isSocket ? .session : nil }
}

extension SyncService {
  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind? { isSocket ? nil : .sync }
}
