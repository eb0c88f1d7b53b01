import LinkCore
import LinkWire

extension MCPServer {
  /// Refuses requests that no route may serve, and passes the others to their route.
  mutating func take(_ id: RequestID, _ call: MCPCall, fresh: MCPSessionID) {
    metrics.requests[call.route, default: 0] += 1
    guard policy.doors.admit(host: call.fields.host) else {
      return refuse(id, 421, "This server is reached by the names of this machine alone.")
    }
    guard policy.doors.admit(origin: call.fields.origin) else {
      return refuse(id, 403, WebDoors.foreignOrigin)
    }
    origins[id] = call.fields.origin
    guard call.method != .options || call.fields.origin == nil else { return preflight(id) }
    switch call.route {
    case .mcp: takeMCP(id, call, fresh: fresh)
    case .toolList, .toolCall, .directLogin, .healthMetrics, .logout: takePlain(id, call)
    }
  }

  /// Tells a browser that a page of this origin may call.
  private mutating func preflight(_ id: RequestID) {
    var reply = MCPReply(204)
    reply.isPreflight = true
    answer(id, reply)
  }

  /// The client has gone: of a batch, that of all of its messages.
  mutating func left(_ id: RequestID) {
    origins[id] = nil
    for request in batches.forget(id) ?? [id] { abandon(request) }
  }

  /// Names the origin in the answers to a web page, so that its browser lets it read them.
  func named(_ effect: Effect) -> Effect {
    switch effect {
    case .answer(let id, var reply):
      reply.origin = origins[id]
      return .answer(id, reply)
    case .begin(let id, let session, _):
      return .begin(id, session: session, origin: origins[id])
    case .watch, .write, .end, .ask, .abandon: return effect
    }
  }

  /// Names the origins in answers that begin, and forgets those of requests that are answered.
  mutating func nameOrigins(in effects: inout [Effect]) {
    guard !origins.isEmpty else { return }
    effects = effects.map { named($0) }
    for effect in effects {
      switch effect {
      case .answer(let id, _), .end(let id): origins[id] = nil
      case .watch, .begin, .write, .ask, .abandon: break
      }
    }
  }

  /// A refusal that is no JSON-RPC: the request was not read so far.
  mutating func refuse(_ id: RequestID, _ status: Int, _ sentence: String) {
    answer(id, MCPReply(status, MCPCallResult.refused("refused", sentence).structured ?? []))
  }

  mutating func refuseMethod(_ id: RequestID, allow: String) {
    var reply = MCPReply(405, allow: allow)
    reply.body = MCPCallResult.refused("method", "This route takes \(allow).").structured ?? []
    answer(id, reply)
  }
}

/// Which of the two media types a client takes (RFC 9110 section 12.5.1).
struct MediaTypes: Sendable, Hashable {
  var json: Bool
  var events: Bool

  /// Weights are not looked at, but for 0; no field at all takes anything that is no stream.
  init(accept: String?) {
    guard let accept else {
      (json, events) = (true, false)
      return
    }
    let ranges = accept.lowercased().split(separator: ",").map { part in
      part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
    }
    let taken = Set(
      ranges.compactMap { range in
        range.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
          ? nil : range.first
      })
    json = !taken.isDisjoint(with: ["application/json", "application/*", "*/*"])
    events = !taken.isDisjoint(with: ["text/event-stream", "text/*", "*/*"])
  }

  /// Whether a `Content-Type` is JSON, whatever its parameters.
  static func isJSON(_ contentType: String?) -> Bool {
    let type = contentType?.split(separator: ";").first ?? ""
    return type.lowercased().filter { $0 != " " && $0 != "\t" } == "application/json"
  }
}
