import LinkCore
import LinkJSON
import LinkWire

// Batches of JSON-RPC, which a server has to take in version 2025-03-26 and in no other.
extension MCPServer {
  /// The most messages of a batch; ours, twice the calls of a session that may wait.
  static let maxBatch = 32

  /// Takes the messages of a batch; their responses are one answer.
  mutating func postBatch(_ request: RequestID, _ call: MCPCall) {
    do throws(Rejection) {
      let accepts = try accepted(call)
      let session = try session(of: call)
      guard session.version == .march2025 else {
        throw Rejection(
          400,
          RPCError(
            .invalidRequest,
            "Invalid request: a batch, which only protocol version 2025-03-26 has; send one "
              + "message at a time"))
      }
      let bodies: [[UInt8]]
      do throws(RPCMessage.Fault) {
        bodies = try RPCMessage.batch(call.body, atMost: Self.maxBatch)
      } catch {
        throw Rejection(400, error.error)
      }
      let members = batches.begin(request, count: bodies.count, accepts)
      for (member, body) in zip(members, bodies) { take(body, member, call, session) }
    } catch {
      reject(request, error)
    }
  }

  private mutating func take(
    _ body: [UInt8], _ member: RequestID, _ call: MCPCall,
    _ session: (name: String, version: MCPVersion)
  ) {
    do throws(Rejection) {
      let message: RPCMessage
      do throws(RPCMessage.Fault) {
        message = try RPCMessage.read(body)
      } catch {
        throw Rejection(400, error.error, to: error.id)
      }
      if case .request(let id, "initialize", _) = message {
        throw Rejection(
          400, RPCError(.invalidRequest, "Invalid request: initialize in a batch"), to: id)
      }
      // As JSON, whatever the client takes: the batch decides how it is told.
      try take(message, member, call, MediaTypes(accept: nil), session)
    } catch {
      reject(member, error)
    }
  }

  /// The batches whose messages are not all answered.
  ///
  /// Each message is handled as a request of its own, by a made-up name; `gather` puts the answers
  /// together again. Bounded by the open requests, and by `maxBatch`.
  struct Batches: Sendable {
    struct Batch {
      var members: [RequestID]
      var accepts: MediaTypes
      var responses: [RequestID: [UInt8]] = [:]
      var isWatched = false
    }

    var batches: [RequestID: Batch] = [:]
    /// The batch of each message.
    var owners: [RequestID: RequestID] = [:]
    /// Counts down from the top, where no request of a connection comes.
    private var lastMember = UInt64.max

    mutating func begin(
      _ request: RequestID, count: Int, _ accepts: MediaTypes
    ) -> [RequestID] {
      let members = (0..<count).map { _ in
        lastMember -= 1
        return RequestID(lastMember)
      }
      batches[request] = Batch(members: members, accepts: accepts)
      for member in members { owners[member] = request }
      return members
    }

    /// Returns the bytes that the answers to a batch leave to the one to this message; `nil` for
    /// any other request.
    func room(for member: RequestID, _ policy: MCPPolicy) -> Int? {
      guard let batch = owners[member].flatMap({ batches[$0] }) else { return nil }
      let held = batch.responses.values.reduce(0) { $0 + $1.count }
      return max((batch.accepts.json ? policy.maxBatchBytes : policy.maxEventBytes) - held, 0)
    }

    /// Whether a request is a batch that waits, or a message of one.
    func holds(_ request: RequestID) -> Bool {
      batches[request] != nil || owners[request] != nil
    }

    /// Forgets a batch whose client has gone; returns its messages, `nil` for no batch.
    mutating func forget(_ request: RequestID) -> [RequestID]? {
      guard let batch = batches.removeValue(forKey: request) else { return nil }
      for member in batch.members { owners[member] = nil }
      return batch.members
    }

    /// Replaces the answers to messages of batches by those to whole batches.
    mutating func gather(_ effects: [Effect]) -> [Effect] {
      guard !owners.isEmpty else { return effects }
      var found: [Effect] = []
      for effect in effects {
        switch effect {
        case .answer(let member, let reply):
          guard let request = owners[member] else {
            found.append(effect)
            continue
          }
          batches[request]?.responses[member] = reply.body
          found += finish(request)
        case .watch(let member):
          guard let request = owners[member] else {
            found.append(effect)
            continue
          }
          if batches[request]?.isWatched == false { found.append(.watch(request)) }
          batches[request]?.isWatched = true
        case .begin, .write, .end, .ask, .abandon: found.append(effect)
        }
      }
      return found
    }

    private mutating func finish(_ request: RequestID) -> [Effect] {
      guard let batch = batches[request], batch.responses.count == batch.members.count else {
        return []
      }
      _ = forget(request)
      let responses = batch.members.compactMap { batch.responses[$0] }.filter { !$0.isEmpty }
      guard !responses.isEmpty else { return [.answer(request, MCPReply(202))] }
      let body =
        [UInt8(ascii: "[")] + Array(responses.joined(separator: [UInt8(ascii: ",")]))
        + [UInt8(ascii: "]")]
      guard !batch.accepts.json else { return [.answer(request, MCPReply(200, body))] }
      return [.begin(request), .write(request, MCPEvents.message(body)), .end(request)]
    }
  }
}
