import HealthSync
import HoldfastSocket
import LinkCore
import LinkRuntime
import LinkWire

/// What is sent of a file.
struct Payload: Sendable {
  var file: String
  /// As they are sent.
  var bytes: [UInt8]
  var isGzip: Bool

  /// The field that names the coding of the bytes.
  var coding: [(name: String, value: String)] {
    isGzip ? [("Content-Encoding", "gzip")] : []
  }
}

// Uploads that resume in the middle.
extension HTTPUploads {
  /// The answer of the server to the question how uploads may resume.
  enum Offer: Sendable, Hashable {
    case absent
    case made(UploadOffer)
  }

  /// Asks the server once how uploads may resume; again if no answer came.
  ///
  /// - Parameter ticket: What an upload was begun with, which counts if no answer came.
  func offered(_ ticket: UploadTicket?) async -> UploadOffer? {
    let asking = offer ?? Task { await askForOffer() }
    offer = asking
    let answer = await asking.value
    if answer == nil, offer == asking { offer = nil }
    switch answer {
    case .made(let found)?: return found
    case .absent?: return nil
    case nil: return ticket.map { UploadOffer($0.dialect) }
    }
  }

  private func askForOffer() async -> Offer? {
    let request = HTTPCall(
      method: "OPTIONS", url: ServerURL.http(server, Self.path), timeout: Self.patience,
      maxBodyBytes: Self.maxBodyBytes)
    guard let answer = try? await http.send(request),
      !ResumableUpload.isPassing(answer.status)
    else { return nil }
    guard (200..<300).contains(answer.status),
      let found = UploadOffer(options: { answer.headers[$0.lowercased()] })
    else { return .absent }
    return .made(found)
  }

  /// Sends a payload in pieces, from where an earlier try was cut.
  ///
  /// - Returns: The answer of a server that has it; `nil` if it is to be sent in one request.
  func resume(
    _ payload: Payload, _ offer: UploadOffer, by caller: RestCaller
  ) async throws(LinkFailure) -> HTTPAnswer? {
    let ticket = files.ticket(of: payload.file).flatMap { ticket in
      ticket.dialect == offer.dialect && ticket.isFor(payload.bytes, isGzip: payload.isGzip)
        ? ticket : nil
    }
    if ticket == nil { files.forgetTicket(of: payload.file) }
    var upload = ResumableUpload(size: payload.bytes.count, offer, url: ticket?.url)
    var last: (answer: HTTPAnswer, failure: LinkFailure)?
    while true {
      let step = upload.step
      guard let request = request(for: step, of: payload, upload.fields) else {
        guard case .ended(let status) = step else {
          if !upload.isUnderstood { self.offer = Task { Offer.absent } }
          return nil
        }
        guard let last else { throw .protocolError(detail: "no answer") }
        if (200..<300).contains(status), upload.isStored { return last.answer }
        throw last.failure
      }
      let told = try await caller.answer(to: request)
      let answer = told.answer
      last = told
      let reply = UploadReply(
        answer.status, offer.dialect, of: request.url, body: answer.body
      ) { answer.headers[$0.lowercased()] }
      switch upload.take(reply) {
      case .nothing: break
      case .forget: files.forgetTicket(of: payload.file)
      case .ticket(let url):
        files.keep(
          UploadTicket(offer.dialect, url: url, of: payload.bytes, isGzip: payload.isGzip),
          of: payload.file)
      }
    }
  }

  /// The request of a step; `nil` if it makes none.
  private func request(
    for step: ResumableUpload.Step, of payload: Payload, _ fields: [UploadField]
  ) -> HTTPCall? {
    let headers = fields.map { (name: $0.name, value: $0.value) }
    func call(
      _ method: String, _ url: String, _ more: [(name: String, value: String)] = [],
      _ body: [UInt8] = []
    ) -> HTTPCall {
      HTTPCall(
        method: method, url: url, headers: headers + more, body: body,
        timeout: Self.patience + .seconds(body.count / Self.rate),
        maxBodyBytes: Self.maxBodyBytes)
    }
    switch step {
    case .create: return call("POST", ServerURL.http(server, Self.path), payload.coding)
    case .offset(let url): return call("HEAD", url)
    case .append(let url, let from, let count, _):
      return call("PATCH", url, [], Array(payload.bytes[from..<(from + count)]))
    case .whole, .ended: return nil
    }
  }
}
