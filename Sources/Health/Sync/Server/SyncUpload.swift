package import HoldfastCore
public import HoldfastServerParts
import HoldfastUploads

// Uploads of batches.
extension SyncServer.Effect: UploadingEffect {}

extension SyncServer: UploadServer {
  package var uploadTerms: UploadTerms {
    let most = SyncServerPolicy.maxBodyBytes
    return UploadTerms(
      path: SyncPath.upload.rawValue, maxBytes: most,
      tooLarge: "A body has at most \(most) bytes. Split the batch.",
      otherCoding: "Bodies may be compressed with gzip only.", busyRetry: policy.busyRetry)
  }

  package var hasRoomForWork: Bool { work.count < policy.maxRequests }

  package mutating func answer(_ id: RequestID, _ response: UploadResponse) {
    answer(id, SyncAnswer(response))
  }

  /// Assigns an upload to a request before its body is complete, unless the request is refused.
  mutating func announce(_ id: RequestID, _ call: SyncCall, _ user: SyncUser?) {
    guard refusal(of: call) == nil, frame.isServing, call.refusedToken == nil else { return }
    // The answer while the body arrives shows whether the secret is right.
    guard wrongSecrets.refusal(of: call, user, at: now) == nil, let user else { return }
    announce(id, call.uploadCall, of: user.name)
  }

  /// Handles the end of work for an upload.
  mutating func uploaded(_ id: RequestID, _ work: Uploads.Work, _ outcome: SyncOutcome) {
    if work.isLast {
      finished(id, work, outcome)
    } else {
      appended(id, work, outcome)
    }
    resume(work.upload)
  }

  private mutating func appended(
    _ id: RequestID, _ work: Uploads.Work, _ outcome: SyncOutcome
  ) {
    switch outcome {
    case .written(let offset):
      storeFailure = nil
      let known = uploads.all[work.upload]?.offset ?? offset
      metrics.storedBytes += UInt64(max(0, offset - known))
      wrote(id, work, upTo: offset)
    case .failed(let failure), .unfinished(_, let failure):
      failedToWrite(work)
      fail(id, failure)
    case .stored, .stamped, .checked, .reported, .refused, .tooLong: break  // answers to other work
    }
  }

  private mutating func finished(
    _ id: RequestID, _ work: Uploads.Work, _ outcome: SyncOutcome
  ) {
    switch outcome {
    case .unfinished(let offset, let failure):
      note(work.upload, offset)
      fail(id, failure)
    case .failed(let failure): fail(id, failure)
    case .written: break  // an answer to other work
    case .stored, .stamped, .checked, .reported, .refused, .tooLong:
      if work.dialect == .tus, case .stored(let counts) = outcome {
        storeFailure = nil
        metrics.count(counts)
        answer(id, tusEnd(of: work))
      } else {
        requests[id]?.completes = work.dialect
        conclude(id, outcome)
      }
      complete(work)
    }
  }

  /// Returns the methods of a route and the supported upload protocols.
  static func options(of path: SyncPath) -> SyncAnswer {
    SyncAnswer(
      204, [], allow: path.allow,
      fields: UploadOffer.options(maxSize: SyncServerPolicy.maxBodyBytes))
  }
}

extension SyncAnswer {
  /// Creates the response to a request about an upload.
  init(_ response: UploadResponse) {
    let body = response.error.map { SyncReply.error($0, details: response.details) } ?? []
    self.init(
      response.status, body, retryAfter: response.retryAfter, fields: response.fields)
  }
}

extension SyncCall {
  /// The parts of the request that the rules of uploads use.
  var uploadCall: UploadCall {
    UploadCall(
      method: method, isCreation: path == .sync, fields: upload, id: uploadID,
      candidate: candidate, mediaType: mediaType, isGzip: isGzip, body: body)
  }

  /// Whether the content coding is gzip, or `nil` if it is not supported.
  var isGzip: Bool? {
    switch encoding?.lowercased() ?? "identity" {
    case "identity", "": false
    case "gzip", "x-gzip": true
    case _: nil
    }
  }
}

extension UploadRecord {
  /// Reads the line at the start of the file of a batch.
  public static func read(_ bytes: [UInt8]) -> (record: UploadRecord, bytes: Int)? {
    read(bytes, atMost: SyncServerPolicy.maxBodyBytes)
  }
}
