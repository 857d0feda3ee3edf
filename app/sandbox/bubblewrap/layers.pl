# Lay a writable layer over folders, in a mount namespace of this process's own, then become a
# command: perl -e TEXT unshare mount open-flags uid gid count (folder changes)... command...
#
# The kernel gets descriptors, not names: a name with a comma would be read as options, and the
# command could read in /proc/self/mounts where this machine keeps its files.
use strict;
my ($unshare, $mount, $flags, $uid, $gid, $count, @rest) = @ARGV;

sub need { my ($what, $done) = @_; defined $done && $done != -1 or die "layers: $what: $!\n" }
sub enter { my ($path) = @_; need("open $path", sysopen(my $fd, $path, 0 + $flags)); $fd }
sub name { "/proc/self/fd/" . fileno $_[0] }
sub tell_kernel {
    my ($path, $text) = @_;
    need($path, open(my $file, ">", $path) || undef);
    need($path, syswrite($file, $text));
}

need("unshare", syscall(0 + $unshare, 0x10000000 | 0x20000));    # CLONE_NEWUSER | CLONE_NEWNS
tell_kernel("/proc/self/setgroups", "deny");
tell_kernel("/proc/self/uid_map", "$uid $uid 1");
tell_kernel("/proc/self/gid_map", "$gid $gid 1");
for (1 .. $count) {
    my ($folder, $changes) = splice @rest, 0, 2;
    my ($lower, $upper, $work) = map { enter($_) } $folder, "$changes/upper", "$changes/work";
    my $kind = "overlay";
    my $options = sprintf "lowerdir=%s,upperdir=%s,workdir=%s,userxattr,index=off", map { name($_) } $lower, $upper, $work;
    need("mount", syscall(0 + $mount, $kind, name($lower), $kind, 2 | 4, $options));    # nosuid, nodev
}
exec { $rest[0] } @rest or die "layers: $rest[0]: $!\n";
