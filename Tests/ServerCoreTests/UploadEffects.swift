import HoldfastCore

@testable import HoldfastServerParts

// The effects of uploads, by their names.
extension UploadingEffect {
  static func write(
    _ token: StoreToken, _ id: UUID128, _ record: UploadRecord, at offset: Int, _ bytes: [UInt8]
  ) -> Self { .upload(.write(token, id, record, at: offset, bytes)) }

  static func finish(
    _ token: StoreToken, _ id: UUID128, _ record: UploadRecord, at offset: Int, _ bytes: [UInt8]
  ) -> Self { .upload(.finish(token, id, record, at: offset, bytes)) }

  static func forget(_ id: UUID128) -> Self { .upload(.forget(id)) }

  static func interrupt(_ id: RequestID) -> Self { .upload(.interrupt(id)) }

  static var measure: Self { .upload(.measure) }
}
