import HoldfastCore
import HoldfastUploads

@testable import HoldfastServerParts

/// The files of the uploads of a server, and the work on them.
struct RandomUploads {
  var files: [UUID128: (record: UploadRecord, count: Int)] = [:]
  /// The uploads that were ever written.
  fileprivate(set) var names: [UUID128] = []
  /// The uploads that are being written.
  var busy: Set<UUID128> = []
  /// The requests whose bodies have not arrived completely.
  var coming: Set<RequestID> = []

  /// Applies the success of an effect.
  mutating func apply(_ effect: UploadEffect) {
    switch effect {
    case .write(_, let id, let record, let offset, let bytes),
      .finish(_, let id, let record, let offset, let bytes):
      files[id] = (record, offset + bytes.count)
    case .forget, .measure, .inform, .interrupt: break
    }
  }
}

extension UploadEffect {
  /// The token and the upload of an effect on a file.
  var work: (token: StoreToken, upload: UUID128)? {
    switch self {
    case .write(let token, let id, _, _, _), .finish(let token, let id, _, _, _): (token, id)
    case .forget, .measure, .inform, .interrupt: nil
    }
  }
}

/// A generator of inputs for a server with uploads.
protocol UploadInputs: ServerInputs {
  var uploads: RandomUploads { get set }
}

extension UploadInputs {
  mutating func uploadFields(_ count: Int, _ name: UUID128?, most: Int) -> UploadFields {
    var fields = UploadFields(one([.tus, .draft(3), .draft(6), .draft(8)]))
    let offset = name.flatMap { uploads.files[$0]?.count } ?? 0
    if !oneIn(12) { fields.offset = one([offset, offset, offset, offset, offset + 1, 0]) }
    let end = offset + count
    if !oneIn(3) { fields.length = one([end, end, end + 5, most + 1]) }
    let length = name.flatMap { uploads.files[$0]?.record.length }
    if let length, oneIn(2) { fields.length = length }
    if !oneIn(9), fields.dialect != .tus { fields.isComplete = oneIn(3) }
    return fields
  }

  /// Returns a known upload, or rarely one that never existed.
  mutating func anyUpload() -> UUID128? {
    oneIn(16)
      ? UUID128(high: 78, low: 1) : uploads.names.suffix(4).randomElement(using: &generator)
  }

  /// Returns the space on the disk. Sometimes it suffices for a few bytes, or for none.
  mutating func disk() -> DiskSpace {
    DiskSpace(free: 100 + one([-30, -1, 0, 3, 9, 200, 9_999_999, 9_999_999]), total: 1_000)
  }

  /// Returns the uploads that the next process finds.
  mutating func storedUploads() -> [StoredUpload] {
    uploads.files.sorted { $0.key < $1.key }.map { id, file in
      StoredUpload(
        id: id, record: file.record, offset: file.count,
        age: .seconds(one([0, 5, 86_399, 86_400, 86_401])))
    }
  }

  /// Checks an effect of the uploads.
  mutating func note(_ effect: UploadEffect) {
    switch effect {
    case .write(_, let id, _, let offset, _), .finish(_, let id, _, let offset, _):
      require(
        uploads.busy.insert(id).inserted, "an upload is written by one request at a time")
      require(
        offset == uploads.files[id]?.count ?? 0, "bytes are written after the last byte")
      if !uploads.names.contains(id) { uploads.names.append(id) }
    case .forget(let id):
      require(uploads.files[id] != nil, "only the file of an upload is removed")
      uploads.files[id] = nil
    case .measure: break
    case .inform(let id, _), .interrupt(let id):
      require(
        uploads.coming.contains(id),
        "only a request whose body is arriving is informed or ended")
    }
  }
}
