import LinkCore
import LinkWire

// What became of the bytes of uploads, and the answers about them.
extension SyncServer {
  /// Takes the end of work for an upload.
  mutating func uploaded(_ id: RequestID, _ work: SyncUploads.Work, _ outcome: SyncOutcome) {
    uploads.all[work.upload]?.busy = nil
    if work.isLast {
      finished(id, work.upload, work.dialect, outcome)
    } else {
      kept(id, work.upload, work.dialect, outcome)
    }
    resume(work.upload)
  }

  private mutating func kept(
    _ id: RequestID, _ name: UUID128, _ dialect: UploadDialect, _ outcome: SyncOutcome
  ) {
    let isCreation = requests[id]?.path == .sync
    switch outcome {
    case .kept(let offset):
      storeFailure = nil
      metrics.keptBytes += UInt64(max(0, offset - (uploads.all[name]?.offset ?? offset)))
      note(name, offset)
      let fields = UploadFields(dialect, offset: offset, isComplete: false).fields
      let place = isCreation ? [Self.place(of: name), Self.limit()] : []
      answer(id, SyncAnswer(isCreation ? 201 : 204, [], fields: fields + place))
    case .failed(let failure), .unfinished(_, let failure):
      if uploads.all[name]?.isStored == false, uploads.all[name]?.waiting.isEmpty == true {
        uploads.all[name] = nil
      }
      fail(id, failure)
    case .stored, .stamped, .checked, .told, .refused, .tooLong: break  // answers to other work
    }
  }

  private mutating func finished(
    _ id: RequestID, _ name: UUID128, _ dialect: UploadDialect, _ outcome: SyncOutcome
  ) {
    switch outcome {
    case .unfinished(let offset, let failure):
      note(name, offset)
      fail(id, failure)
    case .failed(let failure): fail(id, failure)
    case .kept: break  // an answer to other work
    case .stored, .stamped, .checked, .told, .refused, .tooLong:
      if dialect == .tus, case .stored(let tally) = outcome {
        storeFailure = nil
        metrics.count(tally)
        let offset = uploads.all[name]?.record.length
        answer(id, SyncAnswer(204, [], fields: UploadFields(.tus, offset: offset).fields))
      } else {
        requests[id]?.completes = dialect
        conclude(id, outcome)
      }
      // These bytes may be the first ones that its file was made for.
      uploads.all[name]?.isStored = true
      forget(name)
    }
  }

  private mutating func note(_ name: UUID128, _ offset: Int) {
    uploads.all[name]?.offset = offset
    uploads.all[name]?.isStored = true
    uploads.all[name]?.expires = now.advanced(by: SyncUploads.age)
  }

  // MARK: Answers

  static let unknown = SyncAnswer.error(
    404, "Unknown upload", "It is complete, expired or of another user. Begin anew.")

  static let inconsistent = SyncAnswer.error(
    400, badRequest, "The upload has another length than was announced. Begin anew.")

  static func tooLarge(_ dialect: UploadDialect) -> SyncAnswer {
    let most = SyncServerPolicy.maxBodyBytes
    var answer = SyncAnswer.error(
      413, "Too large", "A body has at most \(most) bytes. Split the batch.")
    answer.fields = dialect.fields + [limit()]
    return answer
  }

  static func conflict(
    _ dialect: UploadDialect, expected: Int, provided: Int
  ) -> SyncAnswer {
    var answer = SyncAnswer.error(
      409, "Conflict", "The upload has \(expected) bytes, not \(provided).")
    answer.fields = UploadFields(dialect, offset: expected, isComplete: false).fields
    return answer
  }

  static func state(
    of upload: SyncUploads.Upload, _ dialect: UploadDialect, at now: Instant
  ) -> SyncAnswer {
    let fields = UploadFields(
      dialect, offset: upload.offset, length: upload.record.length, isComplete: false)
    let left = max(.zero, now.duration(to: upload.expires))
    return SyncAnswer(
      dialect == .tus ? 200 : 204, [], fields: fields.fields + [limit(for: left)])
  }

  static func limit(for left: Duration = SyncUploads.age) -> UploadField {
    UploadOffer.limit(
      maxSize: SyncServerPolicy.maxBodyBytes, seconds: left.components.seconds)
  }

  static func place(of name: UUID128) -> UploadField {
    UploadField("Location", "\(SyncPath.upload.rawValue)?id=\(name)")
  }

  /// What may be asked of a route, and how uploads resume.
  static func options(of path: SyncPath) -> SyncAnswer {
    SyncAnswer(
      204, [], allow: path.allow,
      fields: UploadOffer.options(maxSize: SyncServerPolicy.maxBodyBytes))
  }
}
