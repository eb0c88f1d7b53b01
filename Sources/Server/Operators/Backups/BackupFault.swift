/// The reason why an archive is not used as a backup. Member names are those of the archive.
public enum BackupFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file is no backup.
  case foreign(reason: String)
  /// Only a newer program, such as this version, can read the backup.
  case newer(program: String)
  /// The file ends before the backup does, or its structure is damaged.
  case cut(reason: String)
  /// A member has another name or kind than those of a backup.
  case unsafe(member: String)
  /// There are two members with one name.
  case twice(member: String)
  /// A member has another content than the one that was written.
  case damaged(member: String)
  /// A member is missing.
  case missing(member: String)
  /// A member does not belong to the backup.
  case extra(member: String)
  /// There are more members than a backup may have.
  case tooMany(limit: Int)

  /// A human-readable description, which is appended to the path of the file.
  public var description: String {
    switch self {
    case .foreign(let reason): "is no backup of holdfast: \(reason)"
    case .newer(let program): "was made by holdfast \(program), which is newer"
    case .cut(let reason): "is damaged or incomplete: \(reason)"
    case .unsafe(let member): "is no backup of holdfast: it contains \(member)"
    case .twice(let member): "is damaged: it contains \(member) twice"
    case .damaged(let member): "is damaged: the content of \(member) is not what was backed up"
    case .missing(let member): "is damaged: \(member) is missing"
    case .extra(let member): "is damaged: \(member) does not belong to it"
    case .tooMany(let limit): "contains more than \(limit) files"
    }
  }

  /// An action that resolves the error.
  public var remedy: String {
    switch self {
    case .foreign, .unsafe: "name a file that `holdfast backup` has written"
    case .newer: "restore it with that version of holdfast or a newer one"
    case .cut, .twice, .damaged, .missing, .extra:
      "copy it again from where it was made, or use another backup"
    case .tooMany: "unpack it with tar"
    }
  }
}
