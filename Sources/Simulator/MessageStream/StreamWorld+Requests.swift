import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

// Requests: as an HTTP client writes and reads them.
extension StreamWorld {
  mutating func ask(_ request: StreamRequest) {
    let question = StreamFeature.Question(request: request, token: phone.token)
    ask(question, from: phoneID, to: server)
  }

  mutating func requestArrived(
    _ id: TrafficID, _ question: StreamFeature.Question, at server: HostID
  ) {
    feed(
      .request(
        RequestID(id), call(question.request), credential(of: question.token), wall: serverWall))
  }

  private func call(_ what: StreamRequest) -> Call {
    switch what {
    case .fetch(_, let query):
      Call.read(
        method: "GET", path: ShopRoute.paginated(shop).path, query: query.parameters, key: nil,
        body: [], limits: MessageLimits())
    case .post(let entry, _):
      Call.read(
        method: "POST", path: ShopRoute.send.path, query: [], key: entry.id.description,
        body: NewMessage(shop: entry.shop, text: entry.text, parent: entry.parent).encode(),
        limits: MessageLimits())
    }
  }

  func reply(_ answer: Answer) -> StreamFeature.Reply {
    StreamFeature.Reply(
      status: answer.status, retryAfter: answer.retryAfter, bytes: answer.bytes)
  }

  func refusal(_ status: Int) -> StreamFeature.Reply {
    let retryAfter: Duration? = status == 429 || status == 503 ? .seconds(2) : nil
    return reply(.error(status, "not now", retryAfter: retryAfter))
  }

  func bytes(of question: StreamFeature.Question) -> Int {
    switch question.request {
    case .fetch: 500
    case .post(let entry, _): 600 + entry.text.utf8.count
    }
  }

  func bytes(of reply: StreamFeature.Reply) -> Int { reply.bytes.count + 300 }

  /// A client completes a post once. Pages are asked for by number, so a copy tells itself.
  func mayComeTwice(_ question: StreamFeature.Question) -> Bool {
    if case .fetch = question.request { true } else { false }
  }

  /// The refusal of an older token says nothing about the present one.
  func repeated(
    _ question: StreamFeature.Question, after reply: StreamFeature.Reply, of host: HostID
  ) -> StreamFeature.Question? {
    guard reply.status == 401, phone.token.number > question.token.number else { return nil }
    return StreamFeature.Question(request: question.request, token: phone.token)
  }

  mutating func answered(
    _ question: StreamFeature.Question, _ result: Result<StreamFeature.Reply, LinkFailure>,
    to host: HostID
  ) {
    give(input(question.request, result), to: host)
  }

  private func input(
    _ what: StreamRequest, _ result: Result<StreamFeature.Reply, LinkFailure>
  ) -> StreamModel.Input {
    switch result {
    case .failure(let failure): return failed(what, failure)
    case .success(let reply):
      guard reply.status == 200 || reply.status == 201 else {
        let failure = LinkFailure.http(
          status: reply.status, retryAfter: reply.retryAfter,
          detail: Envelope.decodeNote(reply.bytes) ?? "")
        return failed(what, failure)
      }
      return read(what, reply.bytes)
    }
  }

  private func read(_ what: StreamRequest, _ bytes: [UInt8]) -> StreamModel.Input {
    do throws(MessageError) {
      switch what {
      case .fetch(let id, _): return .fetched(id, try PageCodec.decode(bytes, shop: shop))
      case .post(let entry, _):
        return .posted(entry.id, try Envelope.decodeMessage(bytes, shop: shop))
      }
    } catch {
      return failed(what, .protocolError(detail: "the answer could not be read: \(error)"))
    }
  }

  private func failed(_ what: StreamRequest, _ failure: LinkFailure) -> StreamModel.Input {
    switch what {
    case .fetch(let id, _): .fetchFailed(id, failure)
    case .post(let entry, let number): .postFailed(entry.id, try: number, failure)
    }
  }
}
