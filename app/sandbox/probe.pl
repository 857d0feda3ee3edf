# Tries from inside a sandbox what an agent would try; prints "attack <TAB> 1 if it worked <TAB> detail".
# In Perl, because git brings it along: it needs no compiler and starts in a few milliseconds.
use strict;
use warnings;
use Socket;

my ($planted, $port, $socket_name, $known_names, $outer, $unshare, $prlimit, $io_uring) = @ARGV;
my %outer = map { $_ => 1 } split /,/, $outer;
my %known = map { $_ => 1 } split /,/, $known_names;

sub report { my ($attack, @hits) = @_; print "$attack\t", (@hits ? 1 : 0), "\t@hits\n" }
sub opens { my ($mode, $path) = @_; return open(my $file, $mode, $path) }
sub text { my ($path) = @_; open(my $file, '<', $path) or return ''; local $/; return <$file> // '' }
sub reaches { my ($family, $address) = @_; socket(my $s, $family, SOCK_STREAM, 0) or return 0; return connect($s, $address) }

opens('>', 'mark') or print "the sandbox runs commands\t1\tits own folder cannot be written: $!\n";

report('write outside the work tree', grep { opens('>>', $_) } "$planted/open/mark", '/usr/fettle-probe', '/etc/fettle-probe', '/fettle-probe');
report('read a file of this machine', grep { opens('<', $_) } "$planted/canary");
report('change a kernel setting', grep { opens('>>', $_) } '/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches');

my %seen;
for my $file (glob '/proc/[0-9]*/environ') { /^([^=]+)=/ and !$known{$1} and $seen{$1} = 1 for split /\0/, text($file) }
report('read our environment', sort keys %seen);

my @processes = glob '/proc/[0-9]*';
report('see our processes', grep { $outer{$_} } map { readlink("/proc/self/ns/$_") // "no $_" } 'pid', 'net', 'ipc');
report('see other processes', @processes > 5 ? scalar(@processes) . ' processes' : ());

my $loopback = inet_aton('127.0.0.1');
report('connect to a TCP port', reaches(PF_INET, pack_sockaddr_in($port, $loopback)) ? "port $port" : ());
report('connect to an abstract socket', reaches(PF_UNIX, pack_sockaddr_un("\0$socket_name")) ? $socket_name : ());
report('connect to a socket file', reaches(PF_UNIX, pack_sockaddr_un("$planted/socket")) ? "$planted/socket" : ());
if (socket(my $udp, PF_INET, SOCK_DGRAM, 0)) { send($udp, 'probe', 0, pack_sockaddr_in($port, $loopback)) }
report('reach a virtual machine host', socket(my $vsock, 40, SOCK_STREAM, 0) ? 'AF_VSOCK' : ());

my $ring = "\0" x 120;
report('use io_uring', syscall($io_uring, 1, $ring) >= 0 ? 'io_uring_setup' : ());
report('gain privileges', text('/proc/self/status') =~ /^NoNewPrivs:\s*1$/m ? () : 'no_new_privs is off', text('/proc/self/status') =~ /^CapEff:\s*0+$/m ? () : 'capabilities');

my ($one, $many) = (pack('QQ', 1, 1), pack('QQ', 100000, 100000));
syscall($prlimit, 0, 6, $one, 0);
my $child = fork;
exit 0 if defined $child && !$child;
report('start more processes than allowed', defined $child ? 'fork' : (), syscall($prlimit, 0, 6, $many, 0) == 0 ? 'limit raised' : ());
report('make a user namespace', syscall($unshare, 0x10000000) == 0 ? 'unshare' : ());
