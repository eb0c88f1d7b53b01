import LinkCore
import LinkWire

/// What outlives a message: streams without a question, and the end of a session.
extension MCPServer {
  /// `GET /mcp`: the stream on which a server speaks unasked; this one only says that it lives.
  mutating func openStream(_ request: RequestID, _ call: MCPCall) {
    guard MediaTypes(accept: call.fields.accept).events else {
      return reject(
        request, Rejection(406, RPCError(.invalidRequest, "Accept text/event-stream")))
    }
    do throws(Rejection) {
      let name = try session(of: call).name
      guard !isDraining else {
        return answer(request, MCPReply(503, retryAfter: policy.busyRetry))
      }
      // A client that lost its stream opens another before this side has noticed.
      if let older = sessions[name]?.stream { closeStream(older) }
      sessions[name]?.stream = request
      sessions.touch(name, at: now)
      streams[request] = name
      effects.append(.begin(request))
      // Some proxies hold a head back until a first byte of the body follows.
      effects.append(.write(request, MCPEvents.comment))
      beats.set(request, at: now.advanced(by: policy.commentInterval))
    } catch {
      reject(request, error)
    }
  }

  /// `DELETE /mcp`: the session is over, and so is what waits for it.
  ///
  /// Its token stays good: an assistant may keep it for its next session.
  mutating func deleteSession(_ request: RequestID, _ call: MCPCall) {
    do throws(Rejection) {
      let name = try session(of: call).name
      let session = sessions[name]
      if let stream = session?.stream { closeStream(stream) }
      for id in (session?.calls.values.map(\.self) ?? []).sorted() { cancel(id) }
      sessions[name] = nil
      answer(request, MCPReply(200))
    } catch {
      reject(request, error)
    }
  }

  private mutating func closeStream(_ request: RequestID) {
    forgetStream(request)
    effects.append(.end(request))
  }

  /// Its client has gone, or is about to be told.
  mutating func forgetStream(_ request: RequestID) {
    beats.clear(request)
    guard let name = streams.removeValue(forKey: request) else { return }
    if sessions[name]?.stream == request { sessions[name]?.stream = nil }
    sessions.touch(name, at: now)
  }

  mutating func drain() {
    isDraining = true
    for id in streams.keys.sorted() { closeStream(id) }
  }
}
